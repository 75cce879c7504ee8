import { closeProviders, configureProvider } from '../../../test/conformance/configured-provider';
import { chatRequest, providerCall } from '../../../test/conformance/provider-call';
import type { ModelFeatures } from '../contract/provider-call';
import { toOpenAiChatRequest } from '../dialects/openai-chat/chat-request';

afterEach(closeProviders);

/** What a request with the effort says about reasoning. */
function sentEffort(id: string, effort: string, features: ModelFeatures = {}): unknown {
  const { quirks } = configureProvider(id, { origin: 'http://127.0.0.1:1' });
  const request = chatRequest({ reasoning_effort: effort });
  const body = toOpenAiChatRequest(request, providerCall({ quirks, features }), false);
  return body['reasoning'] ?? body['reasoning_effort'];
}

describe('the reasoning efforts of presets', () => {
  it.each(['cerebras', 'groq', 'sambanova'])(
    'sends %s the efforts of its API only, whatever the catalogue lists',
    (id) => {
      const features = { reasoning: ['low', 'medium', 'xhigh', 'max'] };
      const sent = features.reasoning.map((effort) => sentEffort(id, effort, features));
      expect(sent).toEqual(['low', 'medium', 'high', 'high']);
    },
  );

  it.each(['fireworks', 'together'])('sends %s an effort as is where the catalogue lists it', (id) => {
    expect(sentEffort(id, 'max')).toBe('high');
    expect(sentEffort(id, 'max', { reasoning: ['max'] })).toBe('max');
  });

  it('turns reasoning off at Together by its own field, since it has no effort for that', () => {
    expect(sentEffort('together', 'none', { reasoning: ['none', 'high'] })).toEqual({ enabled: false });
    expect(sentEffort('cerebras', 'none')).toBe('none');
  });
});
