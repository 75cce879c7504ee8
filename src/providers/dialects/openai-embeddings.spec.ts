import * as fc from 'fast-check';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import type { EmbeddingResult } from '../contract/embeddings';
import type { Quirks } from '../contract/provider-call';
import { EmbeddingReply } from './openai-embeddings';

type Cut = (bytes: Buffer) => Buffer[];

const whole: Cut = (bytes) => [bytes];
const everyByte: Cut = (bytes) => Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));

/** Reads a reply as undici delivers it: an exception from `onData` ends it. */
function read(
  text: string,
  count: number,
  dimensions: number | null = null,
  cut = whole,
  quirks: Quirks = {},
): Promise<EmbeddingResult> {
  return new Promise((resolve, reject) => {
    const reply = new EmbeddingReply({ count, dimensions }, providerCall({ quirks }), resolve, reject);
    try {
      for (const chunk of cut(Buffer.from(text))) reply.onData(chunk);
    } catch (error) {
      reject(error as Error);
      return;
    }
    reply.onEnd();
  });
}

const base64Of = (numbers: readonly number[]): string => {
  const bytes = Buffer.alloc(numbers.length * 4);
  numbers.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
};

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

const list = (items: readonly object[], usage: object | null = { prompt_tokens: 5, total_tokens: 5 }): string =>
  JSON.stringify({ object: 'list', data: items, model: 'upstream “model” \\" [{', usage });

const item = (index: number | undefined, embedding: unknown): object => ({ object: 'embedding', index, embedding });

describe('EmbeddingReply', () => {
  it.each([
    ['numbers', (numbers: readonly number[]) => numbers],
    ['base64', base64Of],
  ])('puts %s into the order of the input, however the bytes are split', async (_name, write) => {
    const text = list([item(2, write([0.5, -1])), item(0, write([1, 2])), item(1, write([-0.25, 3]))]);
    for (const cut of [whole, everyByte]) {
      const { vectors, usage } = await read(text, 3, 2, cut);
      expect(vectors.map((vector) => [...vector])).toEqual([
        [1, 2],
        [-0.25, 3],
        [0.5, -1],
      ]);
      expect(usage?.inputText).toBe(5);
    }
  });

  it.each([
    ['some', [-128, -1, 0, 1, 127]],
    // As many bytes as a float has.
    ['four', [-128, -1, 0, 127]],
  ])('reads %s signed bytes as their values', async (_name, numbers) => {
    const text = list([item(0, Buffer.from(Int8Array.from(numbers).buffer).toString('base64'))]);
    for (const cut of [whole, everyByte]) {
      const { vectors } = await read(text, 1, numbers.length, cut, { int8Embeddings: true });
      expect(vectors.map((vector) => [...vector])).toEqual([numbers]);
    }
  });

  it('refuses no bytes at all as a vector of signed bytes', async () => {
    const reply = read(list([item(0, '')]), 1, null, whole, { int8Embeddings: true });
    expect((await providerErrorOf(reply)).code).toBe('provider_error');
  });

  it('counts the total as prompt tokens where the upstream reports nothing else', async () => {
    expect((await read(list([item(0, [1])], { total_tokens: 9 }), 1)).usage?.inputText).toBe(9);
  });

  it('ignores brackets and quotes in strings around the numbers', async () => {
    const text = list([
      { note: 'a "}], \\', embedding: [1] },
      { 'data":[{': ['{"'], embedding: [2] },
    ]);
    for (const cut of [whole, everyByte]) {
      expect((await read(text, 2, null, cut)).vectors).toEqual([[1], [2]]);
    }
  });

  it('reads any list, however the bytes are split', async () => {
    const number = fc.double({ noNaN: true, min: -LARGEST_FLOAT, max: LARGEST_FLOAT });
    const vector = fc.array(number, { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(vector, { minLength: 1, maxLength: 5 }),
        fc.constantFrom(undefined, 2, '\t'),
        fc.integer({ min: 1, max: 40 }),
        async (numbers, indent, size) => {
          const document = JSON.parse(list(numbers.map((each, index) => item(index, each)))) as object;
          const text = JSON.stringify(document, null, indent);
          const pieces: Cut = (bytes) =>
            Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
              bytes.subarray(at * size, (at + 1) * size),
            );
          const { vectors } = await read(text, numbers.length, 3, pieces);
          expect(vectors).toEqual(JSON.parse(JSON.stringify(numbers)));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('accepts the largest and the smallest 32-bit floats, and numbers too small for one', async () => {
    const numbers = [LARGEST_FLOAT, -LARGEST_FLOAT, 2 ** -149, 1e-300];
    expect((await read(list([item(0, numbers)]), 1)).vectors).toEqual([numbers]);
  });

  it('uses the order when the upstream omits the index, and returns null when it omits usage', async () => {
    const { vectors, usage } = await read(list([item(undefined, [1]), item(undefined, [2])], null), 2);
    expect([vectors, usage]).toEqual([[[1], [2]], null]);
  });

  it.each([
    ['too few', list([item(0, [1])]), 2],
    ['too many', list([item(0, [1]), item(1, [1])]), 1],
    ['the same twice', list([item(0, [1]), item(0, [1])]), 2],
    ['an index beyond the inputs', list([item(7, [1])]), 1],
    ['an index that is a name', list([{ index: 'length', embedding: [1] }]), 1],
    ['an empty vector', list([item(0, [])]), 1],
    ['vectors of different lengths', list([item(0, [1]), item(1, [1, 2])]), 2],
    ['text among the numbers', list([item(0, [1, 'x'])]), 1],
    ['null among the numbers', list([item(0, [null])]), 1],
    ['an infinite number', list([item(0, [1])]).replace('[1]', '[1e999]'), 1],
    ['a number beyond 32-bit floats', list([item(0, [0.1, 1e39])]), 1],
    ['a negative number beyond 32-bit floats', list([item(0, [0.1, -1e300])]), 1],
    ['NaN in base64', list([item(0, base64Of([1, NaN]))]), 1],
    ['infinity in base64', list([item(0, base64Of([Infinity]))]), 1],
    ['base64 of half a float', list([item(0, Buffer.alloc(6).toString('base64'))]), 1],
    ['characters that are not base64', list([item(0, `${base64Of([1])}!!!!`)]), 1],
    ['a list of lists', '{"data":[[1,2]],"usage":{"prompt_tokens":1}}', 1],
    ['no list', '{"object":"list"}', 1],
    ['half a document', list([item(0, [1])]).slice(0, -9), 1],
    ['invalid JSON', 'upstream connect error', 1],
    ['nothing', '', 1],
    ['an endless frame', `{"x":"${'a'.repeat(70_000)}","data":[{"embedding":[1]}]}`, 1],
    ['more bytes than the inputs can need', list([item(0, Array(30_000).fill(0.123456789012))]), 1],
  ])('refuses %s', async (_name, text, count) => {
    for (const cut of text.length < 1_000 ? [whole, everyByte] : [whole]) {
      const error = await providerErrorOf(read(text, count, null, cut));
      expect([error.code, error.options.phase, error.options.fallback]).toEqual([
        'provider_error',
        'first_token',
        true,
      ]);
    }
  });

  it('refuses vectors that do not have the requested dimensions', async () => {
    const error = await providerErrorOf(read(list([item(0, [1, 2, 3])]), 1, 2));
    expect([error.code, error.options.param]).toEqual(['validation_failed', 'dimensions']);
    expect(error.message).toContain('3 dimensions');
  });

  it('maps an error inside a reply with status 200', async () => {
    const error = await providerErrorOf(read('{"error":{"message":"überlastet","type":"overloaded_error"}}', 1));
    expect(error.code).toBe('provider_unavailable');
  });
});
