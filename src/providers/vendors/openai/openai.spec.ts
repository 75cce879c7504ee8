import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { images, json } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import { OpenAiProvider } from './openai.module';

describe('OpenAiProvider', () => {
  let upstream: FakeUpstream;
  let provider: Provider | null;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    provider = new OpenAiProvider().create({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: upstream.origin });
  });

  afterEach(async () => {
    await provider?.close();
    await upstream.stop();
  });

  it('does not send an image response format, which its models refuse', async () => {
    upstream.answer = images(1);
    const call = providerCall({ quirks: provider?.quirks });
    for (const delivery of ['bytes', 'url'] as const)
      await provider?.images?.generate(imageRequest({ delivery }), call);
    expect(upstream.received.map(({ body }) => JSON.parse(body) as object)).toEqual(
      Array.from({ length: 2 }, () => ({ model: 'upstream-model', prompt: 'a lighthouse', n: 1 })),
    );
  });

  it('splits a list of embeddings that has more tokens than it takes in one call', async () => {
    upstream.answer = json({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      model: 'm',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    const call = providerCall({ quirks: provider?.quirks });
    const input = Array.from({ length: 2 }, () => 'a'.repeat(400_000));
    const embedded = await provider?.embeddings?.embed({ model: 'm', input }, call);
    expect(upstream.received.map(({ body }) => (JSON.parse(body) as { input: string[] }).input)).toEqual(
      input.map((text) => [text]),
    );
    expect([embedded?.vectors, embedded?.usage?.inputText]).toEqual([[[0.5], [0.5]], 6]);
  });
});
