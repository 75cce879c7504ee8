import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import { GoogleProvider } from './google.module';

let upstream: FakeUpstream;
let provider: Provider | null;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  provider = new GoogleProvider().create({
    GEMINI_API_KEY: 'AIza-secret',
    GEMINI_BASE_URL: `${upstream.origin}/v1beta`,
  });
});
afterEach(async () => {
  await provider?.close();
  await upstream.stop();
});

const answer = (candidate: object) => {
  upstream.answer = (response) => response.end(JSON.stringify({ candidates: [candidate] }));
};
const stop = (...parts: object[]) => ({ content: { role: 'model', parts }, finishReason: 'STOP' });

describe('GoogleProvider', () => {
  it('exists only with a key, and refuses an invalid base URL', () => {
    expect(new GoogleProvider().create({})).toBeNull();
    expect(() => new GoogleProvider().create({ GEMINI_API_KEY: 'k', GEMINI_BASE_URL: 'nowhere' })).toThrow(
      'GEMINI_BASE_URL',
    );
  });

  it('sends the key in a header and never in the URL', async () => {
    answer(stop({ text: 'Hi' }));
    await provider?.chat?.complete(chatRequest(), providerCall());
    await providerErrorOf(
      provider?.chat?.openStream(chatRequest({ stream: true }), providerCall()) ?? Promise.resolve(),
    );
    expect(upstream.received.map(({ url, headers }) => [url, headers['x-goog-api-key']])).toEqual([
      ['/v1beta/models/upstream-model:generateContent', 'AIza-secret'],
      ['/v1beta/models/upstream-model:streamGenerateContent?alt=sse', 'AIza-secret'],
    ]);
  });

  it('keeps a model inside its path segment', async () => {
    answer(stop({ text: 'Hi' }));
    await provider?.chat?.complete(chatRequest(), providerCall({ upstreamModel: 'tunedModels/a?key=b' }));
    expect(upstream.received[0]?.url).toBe('/v1beta/tunedModels/a%3Fkey%3Db:generateContent');
  });

  it.each(['complete', 'openStream'] as const)(
    'refuses unsupported features before anything is sent (%s)',
    async (method) => {
      const request = chatRequest({ logit_bias: { 5: 1 } });
      const error = await providerErrorOf(provider?.chat?.[method](request, providerCall()) ?? Promise.resolve());
      expect([error.code, error.options.phase, error.options.param]).toEqual([
        'validation_failed',
        'connect',
        'logit_bias',
      ]);
      expect(() => provider?.chat?.assertSupported?.(request, { features: {}, quirks: {} })).toThrow(error.message);
      expect(upstream.connections).toBe(0);
    },
  );

  it('returns thought signatures that the vault has kept, unless the client sends its own', async () => {
    const vault = new MemoryVault();
    const call = providerCall({ openVault: () => vault });
    answer(
      stop(
        { functionCall: { id: 'c1', name: 'f' }, thoughtSignature: 'kept' },
        { functionCall: { id: 'c2', name: 'f' } },
      ),
    );
    await provider?.chat?.complete(chatRequest(), call);
    const history = (extra: object) => [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        tool_calls: ['c1', 'c2'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: '{}' },
          ...extra,
        })),
      },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
      { role: 'tool', tool_call_id: 'c2', content: '2' },
    ];
    const own = { extra_content: { google: { thought_signature: 'own' } } };
    for (const extra of [{}, own]) await provider?.chat?.complete(chatRequest({ messages: history(extra) }), call);
    const signatures = upstream.received.slice(1).map(({ body }) => {
      const { contents } = JSON.parse(body) as { contents: { parts: { thoughtSignature?: string }[] }[] };
      return contents[1]?.parts.map(({ thoughtSignature }) => thoughtSignature);
    });
    expect(signatures).toEqual([
      ['kept', undefined],
      ['own', 'own'],
    ]);
  });
});
