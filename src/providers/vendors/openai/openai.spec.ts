import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { images } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall } from '../../../../test/conformance/provider-call';
import { OpenAiProvider } from './openai.module';

describe('OpenAiProvider', () => {
  it('does not send an image response format, which its models refuse', async () => {
    const upstream = await FakeUpstream.start();
    upstream.answer = images(1);
    const provider = new OpenAiProvider().create({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: upstream.origin });
    const call = providerCall({ quirks: provider?.quirks });
    for (const delivery of ['bytes', 'url'] as const)
      await provider?.images?.generate(imageRequest({ delivery }), call);
    expect(upstream.received.map(({ body }) => JSON.parse(body) as object)).toEqual(
      Array.from({ length: 2 }, () => ({ model: 'upstream-model', prompt: 'a lighthouse', n: 1 })),
    );
    await provider?.close();
    await upstream.stop();
  });
});
