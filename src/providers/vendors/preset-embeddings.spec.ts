import { closeProviders, configureProvider, OPENAI_PRESETS } from '../../../test/conformance/configured-provider';
import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import type { Quirks } from '../contract/provider-call';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});

afterEach(async () => {
  await closeProviders();
  await upstream.stop();
});

/** A vector of one number in the upstream's encoding. */
function toVector(value: number, { int8Embeddings }: Quirks): number[] | string {
  return int8Embeddings === true ? Buffer.from([value]).toString('base64') : [value];
}

describe('the embeddings of presets', () => {
  it.each([
    ['voyage', { output_dimension: 8, encoding_format: 'base64', input_type: 'query' }],
    ['mistral', { output_dimension: 8 }],
    ['jina', { dimensions: 8, task: 'retrieval.query' }],
  ])('%s: are requested with %j', async (id, expected) => {
    const { embeddings, quirks } = configureProvider(id, upstream);
    const own = { input_type: 'query', task: 'retrieval.query' };
    const request = { model: 'x', input: ['one'], dimensions: 8, user: 'ada', ...own };
    await providerErrorOf(embeddings?.embed(request, providerCall({ quirks })) ?? Promise.reject());
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({
      model: 'upstream-model',
      input: ['one'],
      ...expected,
    });
  });

  it.each([
    ['cohere', 'text', [96, 96, 8]],
    ['qwen', 'text', Array<number>(20).fill(10)],
    ['mistral', 'text of '.repeat(500), Array<number>(25).fill(8)],
    ['perplexity', 'text', [200]],
    ['voyage', 'text of '.repeat(500), [59, 59, 59, 23]],
    ['openai', 'text', [200]],
  ])('%s: long lists are split into calls that it takes', async (id, text, expected) => {
    const { embeddings, quirks } = configureProvider(id, upstream);
    upstream.answer = (response, { body }) => {
      const { input } = JSON.parse(body) as { input: string[] };
      const data = input.map((each) => ({ embedding: toVector(Number.parseInt(each, 10), quirks) }));
      response.end(JSON.stringify({ data, usage: { prompt_tokens: input.length, total_tokens: input.length } }));
    };
    const input = Array.from({ length: 200 }, (_, index) => `${index % 100} ${text}`);
    const result = await embeddings?.embed({ model: 'x', input }, providerCall({ quirks }));
    expect(result?.vectors.map(([value]) => value)).toEqual(input.map((_text, index) => index % 100));
    expect(result?.usage?.inputText).toBe(200);
    const sizes = upstream.received.map(({ body }) => (JSON.parse(body) as { input: string[] }).input.length);
    expect(sizes.toSorted((one, next) => next - one)).toEqual(expected);
  });

  it('are requested in base64 only where the vendor documents it', async () => {
    const asked: string[] = [];
    for (const id of OPENAI_PRESETS) {
      const { embeddings, quirks } = configureProvider(id, upstream);
      const request = { model: 'x', input: ['one'] };
      await embeddings?.embed(request, providerCall({ quirks })).catch(() => undefined);
      if (upstream.received.pop()?.body.includes('base64') === true) asked.push(id);
    }
    expect(asked).toEqual(['azure', 'cohere', 'ollama', 'openai', 'vllm', 'voyage']);
  });

  it('are refused with a type of input, which Cohere’s endpoint does not take', async () => {
    const { embeddings, quirks } = configureProvider('cohere', upstream);
    const request = { model: 'x', input: ['one'], input_type: 'search_query' };
    const { options } = await providerErrorOf(embeddings?.embed(request, providerCall({ quirks })) ?? Promise.reject());
    expect([options.param, upstream.received]).toEqual(['input_type', []]);
  });
});
