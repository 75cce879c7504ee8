import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Provider } from '../../src/providers/contract/provider';
import { ProviderError } from '../../src/providers/contract/provider-error';
import { FakeUpstream } from './fake-upstream';
import { chatRequest, providerCall } from './provider-call';
import { DOCUMENTED_SUBJECTS } from './subjects';

type Fields = Readonly<Record<string, unknown>>;

const FILE = join(__dirname, '../../src/providers/COMPATIBILITY.md');

const tool = { type: 'function', function: { name: 'f', description: 'x', parameters: { type: 'object' } } };
const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };

/** A message with this part beside its text. */
const showing = (part: Fields): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, part] }],
});

/** What a client may ask of a chat, each with a value that has an effect. */
const PROBES: Readonly<Record<string, Fields>> = {
  image: showing({ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }),
  PDF: showing({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }),
  audio: showing({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
  tools: { tools: [tool] },
  tool_choice: { tools: [tool], tool_choice: 'required' },
  json_object: { response_format: { type: 'json_object' } },
  json_schema: { response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } } },
  reasoning_effort: { reasoning_effort: 'low' },
  stop: { stop: ['.'] },
  penalties: { presence_penalty: 1, frequency_penalty: 1 },
  seed: { seed: 7 },
  logprobs: { logprobs: true, top_logprobs: 2 },
  logit_bias: { logit_bias: { 42: 5 } },
  user: { user: 'ada' },
};

const ENDPOINTS = ['chat', 'completions', 'embeddings', 'images', 'speech', 'transcription'] as const;

type Outcome = 'native' | 'emulated' | 'translated' | 'ignored' | 'refused' | '';

describe('COMPATIBILITY.md', () => {
  it('shows what becomes of each field at each provider, as measured at a fake upstream', async () => {
    const upstream = await FakeUpstream.start();
    const endpoints: string[][] = [];
    const fields: string[][] = [];
    for (const { definition, environment } of DOCUMENTED_SUBJECTS) {
      const provider = definition.create(environment(upstream.origin));
      if (provider === null) throw new Error(`${definition.id} is not configured by its own environment`);
      endpoints.push([definition.id, ...ENDPOINTS.map((endpoint) => endpointOf(provider, endpoint))]);
      if (provider.chat !== undefined) fields.push([definition.id, ...(await measure(provider, upstream))]);
      await provider.close();
    }
    await upstream.stop();
    const text = render(endpoints, fields);
    if (process.env['WRITE_DOCS'] === '1') writeFileSync(FILE, text);
    expect(readFileSync(FILE, 'utf8')).toBe(text);
  });
});

function endpointOf({ capabilities }: Provider, endpoint: (typeof ENDPOINTS)[number]): Outcome {
  if (capabilities[endpoint]) return 'native';
  return endpoint === 'completions' && capabilities.chat ? 'emulated' : '';
}

async function measure(provider: Provider, upstream: FakeUpstream): Promise<Outcome[]> {
  const plain = await sentBody(provider, upstream, {});
  const outcomes: Outcome[] = [];
  for (const probe of Object.values(PROBES)) {
    const body = await sentBody(provider, upstream, probe);
    outcomes.push(body === null ? 'refused' : outcomeOf(probe, body, plain));
  }
  return outcomes;
}

/** `null`: refused before anything was sent. */
async function sentBody(provider: Provider, upstream: FakeUpstream, fields: Fields): Promise<Fields | null> {
  upstream.received.length = 0;
  try {
    await provider.chat?.complete(chatRequest(fields), providerCall({ quirks: provider.quirks }));
  } catch (error) {
    // The fake upstream answers with something other than a completion.
    if (!(error instanceof ProviderError)) throw error;
  }
  const [sent] = upstream.received;
  return sent === undefined ? null : (JSON.parse(sent.body) as Fields);
}

function outcomeOf(probe: Fields, body: Fields, plain: Fields | null): Outcome {
  const asked = Object.entries(probe);
  if (asked.every(([field, value]) => JSON.stringify(body[field]) === JSON.stringify(value))) return 'native';
  if (JSON.stringify(body) === JSON.stringify(plain)) return 'ignored';
  if ('messages' in probe) return 'translated';
  return JSON.stringify(withoutPrompt(body)) === JSON.stringify(withoutPrompt(plain)) ? 'emulated' : 'translated';
}

function withoutPrompt(body: Fields | null): Fields {
  const { system: _system, messages: _messages, ...rest } = body ?? {};
  return rest;
}

function render(endpoints: readonly string[][], fields: readonly string[][]): string {
  return `# Compatibility

What becomes of a request at each provider. \`native\`: sent as it is. \`translated\`: sent in the provider's own format.
\`emulated\`: sent to another endpoint, a text completion as a chat, or to the model as an instruction, whose answer is
checked. \`ignored\`: left out, because the provider does not know the field and the answer means the same without it.
\`refused\`: 400 with \`param\`, because the answer would not be what was asked for. What a model can do is in the catalogue,
where a deployment may override all of this.

This page is written by \`WRITE_DOCS=1 npx jest test/conformance/compatibility.spec.ts\`, which measures it.

## Endpoints

\`/v1/responses\` works wherever chat does.

${table(['provider', ...ENDPOINTS], endpoints)}

## Fields of a chat

${table(['provider', ...Object.keys(PROBES)], fields)}
`;
}

/** A table as Prettier writes it. */
function table(head: readonly string[], rows: readonly string[][]): string {
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
