/** A request of the playground as the reader's own program would send it. */
export interface SampledRequest {
  readonly path: `/v1/${string}`;
  readonly body: object;
  /** The form field and name of an uploaded file; the rest of `body` is sent as form fields. */
  readonly file?: { readonly field: string; readonly name: string };
  /** Call of the official SDKs; without it, the samples use plain HTTP. */
  readonly sdk?: string;
  readonly needsIdempotencyKey?: boolean;
}

export interface Sample {
  readonly language: 'curl' | 'Python' | 'TypeScript';
  readonly code: string;
}

/** Programs that send exactly this request with the key in `$KEY`. */
export function samplesOf(request: SampledRequest, origin: string): readonly Sample[] {
  return [
    { language: 'curl', code: curl(request, origin) },
    { language: 'Python', code: request.sdk === undefined ? pythonHttp(request, origin) : pythonSdk(request, origin) },
    {
      language: 'TypeScript',
      code: request.sdk === undefined ? typeScriptHttp(request, origin) : typeScriptSdk(request, origin),
    },
  ];
}

function curl({ path, body, file, needsIdempotencyKey }: SampledRequest, origin: string): string {
  const lines = [`curl ${origin}${path}`, '-H "Authorization: Bearer $KEY"'];
  if (needsIdempotencyKey === true) lines.push('-H "Idempotency-Key: $(uuidgen)"');
  if (file === undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)}'`);
  } else {
    lines.push(`-F ${file.field}=@${shellWord(file.name)}`);
    for (const [name, value] of fields(body)) lines.push(`-F ${name}=${shellWord(value)}`);
  }
  return lines.join(' \\\n  ');
}

function pythonSdk({ body, file, sdk }: SampledRequest, origin: string): string {
  const values = Object.entries(body).map(([name, value]) => `    ${name}=${pythonValue(value, 4)},`);
  if (file !== undefined) values.unshift(`    ${file.field}=open(${JSON.stringify(file.name)}, "rb"),`);
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["KEY"])
reply = client.${sdk ?? ''}(
${values.join('\n')}
)
`;
}

function pythonHttp({ path, body, needsIdempotencyKey }: SampledRequest, origin: string): string {
  const idempotency = needsIdempotencyKey === true ? ', "Idempotency-Key": str(uuid.uuid4())' : '';
  return `import os, uuid
import requests

reply = requests.post(
    "${origin}${path}",
    headers={"Authorization": f"Bearer {os.environ['KEY']}"${idempotency}},
    json=${pythonValue(body, 4)},
)
print(reply.json())
`;
}

function typeScriptSdk({ body, file, sdk }: SampledRequest, origin: string): string {
  const values = Object.entries(body).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  if (file !== undefined) values.unshift(`  ${file.field}: createReadStream(${JSON.stringify(file.name)}),`);
  return `import OpenAI from 'openai';
${file === undefined ? '' : "import { createReadStream } from 'node:fs';\n"}
const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.KEY });
const reply = await client.${sdk ?? ''}({
${values.join('\n')}
});
`;
}

function typeScriptHttp({ path, body, needsIdempotencyKey }: SampledRequest, origin: string): string {
  const idempotency = needsIdempotencyKey === true ? "\n    'Idempotency-Key': crypto.randomUUID()," : '';
  return `const reply = await fetch('${origin}${path}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.KEY}\`,
    'Content-Type': 'application/json',${idempotency}
  },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
console.log(await reply.json());
`;
}

function pythonValue(value: unknown, indent: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = ' '.repeat(indent + 4);
  const items = Array.isArray(value)
    ? value.map((item) => `${inner}${pythonValue(item, indent + 4)},`)
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonValue(item, indent + 4)},`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return items.length === 0 ? `${open}${close}` : `${open}\n${items.join('\n')}\n${' '.repeat(indent)}${close}`;
}

/** The fields of a form; a list is sent as one field per item. */
function fields(body: object): ReadonlyArray<readonly [string, string]> {
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value) ? value.map((item) => [`${name}[]`, String(item)] as const) : [[name, String(value)] as const],
  );
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
