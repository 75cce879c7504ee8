import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { message } from '../../../../test/conformance/message-events';
import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import { BedrockAnthropicProvider } from './bedrock-anthropic.module';

const definition = new BedrockAnthropicProvider();

describe('BedrockAnthropicProvider', () => {
  it.each([{ BEDROCK_ANTHROPIC_API_KEY: 'k' }, { BEDROCK_ANTHROPIC_BASE_URL: 'https://host/anthropic' }])(
    'exists only with a key and a base URL, not with %j',
    (environment) => expect(definition.create(environment)).toBeNull(),
  );

  it('sends every model the path, key header and version that Bedrock documents', async () => {
    const upstream = await FakeUpstream.start();
    const provider = definition.create({
      BEDROCK_ANTHROPIC_API_KEY: 'bedrock-secret',
      BEDROCK_ANTHROPIC_BASE_URL: `${upstream.origin}/anthropic`,
    });
    upstream.answer = (response) => response.end(JSON.stringify(message()));
    for (const features of [{}, { sampling: false }]) {
      await provider?.chat?.complete(chatRequest(), providerCall({ features }));
    }
    expect(upstream.received.map(({ url }) => url)).toEqual(['/anthropic/v1/messages', '/anthropic/v1/messages']);
    for (const { headers } of upstream.received) {
      expect(headers).toMatchObject({ 'x-api-key': 'bedrock-secret', 'anthropic-version': '2023-06-01' });
      expect(headers).not.toHaveProperty('authorization');
    }
    await provider?.close();
    await upstream.stop();
  });
});
