/** Chunks as various upstreams write them, for tests of the dialect `openai-chat`. */
type Fields = Record<string, unknown>;

const FIXED = { id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1700000000, model: 'upstream-model' };

export function chunk(delta: Fields, choice: Fields = {}, top: Fields = {}): Fields {
  return { ...FIXED, choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...top };
}

/** The JSON of a chunk, as the `data` of an event. */
export function chunkBytes(delta: Fields, choice: Fields = {}, top: Fields = {}): Buffer {
  return Buffer.from(JSON.stringify(chunk(delta, choice, top)));
}

export function sse(...documents: unknown[]): string {
  return documents
    .map((document) => `data: ${typeof document === 'string' ? document : JSON.stringify(document)}\n\n`)
    .join('');
}

let padding = 0;

export const UPSTREAM_ACCENTS: readonly { name: string; build: (delta: Fields) => Buffer }[] = [
  { name: 'plain', build: (delta) => chunkBytes(delta) },
  {
    name: 'OpenAI',
    build: (delta) =>
      chunkBytes(delta, { logprobs: null }, { service_tier: 'default', system_fingerprint: 'fp_1', usage: null }),
  },
  { name: 'padded', build: (delta) => chunkBytes(delta, {}, { obfuscation: 'x'.repeat(++padding % 7) }) },
  { name: 'role in every chunk', build: (delta) => chunkBytes({ role: 'assistant', ...delta }) },
  {
    name: 'blanks after colons',
    build: (delta) => Buffer.from(JSON.stringify(chunk(delta), null, 1).replaceAll(/\n\s*/g, '')),
  },
  {
    name: 'ASCII only',
    build: (delta) =>
      Buffer.from(
        JSON.stringify(chunk(delta)).replaceAll(
          /[\u0080-\uffff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        ),
      ),
  },
  { name: 'time stamp per chunk', build: (delta) => chunkBytes(delta, {}, { created: 1700000000 + (++padding % 3) }) },
];
