import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { EmbeddingRequest } from '../../contract/embeddings';
import { UpstreamHttp } from '../../kit/upstream-http';
import { GeminiEmbeddings } from './gemini-embeddings';

let upstream: FakeUpstream;
let http: UpstreamHttp;
let embeddings: GeminiEmbeddings;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1beta`) });
  embeddings = new GeminiEmbeddings(http);
});
afterEach(async () => {
  await http.close();
  await upstream.stop();
});

const request = (input: EmbeddingRequest['input'], extra: object = {}): EmbeddingRequest => ({
  model: 'm',
  input,
  ...extra,
});
const answer = (values: readonly unknown[], extra: object = {}) => {
  upstream.answer = (response) =>
    response.end(JSON.stringify({ embeddings: values.map((each) => ({ values: each })), ...extra }));
};

describe('GeminiEmbeddings', () => {
  it('sends a batch and returns the vectors in the order of the input', async () => {
    answer(
      [
        [1, 0],
        [0, 1],
      ],
      { usageMetadata: { promptTokenCount: 7 } },
    );
    const { vectors, usage } = await embeddings.embed(request(['a', 'b'], { dimensions: 2 }), providerCall());
    const part = (text: string) => ({
      model: 'models/upstream-model',
      content: { parts: [{ text }] },
      outputDimensionality: 2,
    });
    expect(upstream.received[0]?.url).toBe('/v1beta/models/upstream-model:batchEmbedContents');
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({ requests: [part('a'), part('b')] });
    expect([vectors, usage?.inputText]).toEqual([
      [
        [1, 0],
        [0, 1],
      ],
      7,
    ]);
  });

  it('normalizes shortened vectors to length 1, as clients of the format expect, and leaves others unchanged', async () => {
    answer([
      [3, 4],
      [0.6, 0.8004],
    ]);
    const { vectors, usage } = await embeddings.embed(request(['a', 'b']), providerCall());
    expect([vectors, usage]).toEqual([
      [
        [0.6, 0.8],
        [0.6, 0.8004],
      ],
      null,
    ]);
  });

  it('splits 250 inputs into batches of at most 100 and adds their usage up', async () => {
    upstream.answer = (response, { body }) => {
      const { requests } = JSON.parse(body) as { requests: { content: { parts: [{ text: string }] } }[] };
      const vectors = requests.map(({ content }) => ({
        values: [Math.cos(Number(content.parts[0].text)), Math.sin(Number(content.parts[0].text))],
      }));
      response.end(JSON.stringify({ embeddings: vectors, usageMetadata: { promptTokenCount: requests.length } }));
    };
    const inputs = Array.from({ length: 250 }, (_, index) => String(index));
    const { vectors, usage } = await embeddings.embed(request(inputs), providerCall());
    expect(vectors).toEqual(inputs.map((text) => [Math.cos(Number(text)), Math.sin(Number(text))]));
    expect([upstream.received.length, usage?.inputText]).toEqual([3, 250]);
  });

  it('aborts the other batches when one fails', async () => {
    const disconnected = upstream.nextDisconnect();
    upstream.answer = (response, { body }) => {
      if (body.includes('"text":"0"')) return;
      response.writeHead(503).end('{"error":{"code":503,"status":"UNAVAILABLE"}}');
    };
    const deadlines = { connectMs: 60_000, firstTokenMs: 600_000, idleMs: 600_000, totalMs: 600_000 };
    const inputs = Array.from({ length: 101 }, (_, index) => String(index));
    expect((await providerErrorOf(embeddings.embed(request(inputs), providerCall({ deadlines })))).code).toBe(
      'provider_unavailable',
    );
    await expect(disconnected).resolves.toBeUndefined();
  });

  it.each([
    ['token ids', request([1, 2, 3]), {}, 'input'],
    ['lists of token ids', request([[1], [2]]), {}, 'input'],
    ['a number of dimensions', request('a', { dimensions: 8 }), { dimensions: false }, 'dimensions'],
  ])('refuses %s before sending', async (_name, asked, features, param) => {
    const error = await providerErrorOf(embeddings.embed(asked, providerCall({ features })));
    expect([error.code, error.options.phase, error.options.param]).toEqual(['validation_failed', 'connect', param]);
    expect(() => embeddings.assertSupported(asked, { features, quirks: {} })).toThrow(error.message);
    expect(upstream.received).toEqual([]);
  });

  it.each([
    ['too few vectors', '{"embeddings":[]}'],
    ['too many vectors', '{"embeddings":[{"values":[1]},{"values":[1]}]}'],
    ['an empty vector', '{"embeddings":[{"values":[]}]}'],
    ['text among the numbers', '{"embeddings":[{"values":[1,"x"]}]}'],
    ['a number beyond 32-bit floats', '{"embeddings":[{"values":[1e39]}]}'],
    ['no vectors', '{"embeddings":[{}]}'],
    ['half a document', '{"embeddings":[{"values":[1]}'],
    ['another document', '{"data":[{"values":[1]}]}'],
    ['a web page', '<html>'],
  ])('refuses a reply with %s', async (_name, body) => {
    upstream.answer = (response) => response.end(body);
    const error = await providerErrorOf(embeddings.embed(request('a'), providerCall()));
    expect([error.code, error.options.fallback]).toEqual(['provider_error', true]);
  });

  it('refuses vectors without the requested dimensions', async () => {
    answer([[1, 0, 0]]);
    expect((await providerErrorOf(embeddings.embed(request('a', { dimensions: 2 }), providerCall()))).code).toBe(
      'provider_error',
    );
  });
});
