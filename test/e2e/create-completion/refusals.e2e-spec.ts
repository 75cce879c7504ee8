import { CompletionGateway } from './completion-gateway';

let served: CompletionGateway;

beforeAll(async () => {
  served = await CompletionGateway.start();
});
afterAll(() => served.stop());

const HELLO = { model: 'mock/chat-1', prompt: 'Hello' };

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['two prompts', { prompt: ['a', 'b'] }, 'prompt'],
    ['token ids', { prompt: [1, 2, 3] }, 'prompt'],
    ['a list of token ids', { prompt: [[1, 2, 3]] }, 'prompt'],
    ['an empty list', { prompt: [] }, 'prompt'],
    ['a prompt that is not a text', { prompt: [{}] }, 'prompt[0]'],
    ['n above one', { n: 2 }, 'n'],
    ['best_of above one', { best_of: 2 }, 'best_of'],
    ['negative max_tokens', { max_tokens: -1 }, 'max_tokens'],
    ['too many logprobs', { logprobs: 6 }, 'logprobs'],
    ['five stop sequences', { stop: ['1', '2', '3', '4', '5'] }, 'stop'],
    ['a temperature above two', { temperature: 2.1 }, 'temperature'],
    ['a model of another kind', { model: 'mock/embed-1' }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
    ['a suffix for a chat model', { suffix: 'The end.' }, 'suffix'],
    ['echo with max_tokens of zero for a chat model', { echo: true, max_tokens: 0 }, 'max_tokens'],
    ['logprobs of the prompt for a chat model', { echo: true, logprobs: 1 }, 'logprobs'],
  ])('%s', async (_case, change, param) => {
    const before = await served.balance();
    for (const stream of [false, true]) {
      const { status, json } = await served.complete({ ...HELLO, ...change, stream });
      expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
    }
    expect(await served.balance()).toBe(before);
  });

  it('explains why token ids and several prompts are refused', async () => {
    const messages = [];
    for (const prompt of [[1, 2], [[1]], ['a', 'b']]) {
      messages.push((await served.complete({ ...HELLO, prompt })).json.error.message);
    }
    expect(messages).toEqual([
      'prompt must be text: token ids are not supported',
      'prompt must be text: token ids are not supported',
      'prompt must be one string: several prompts are not supported',
    ]);
  });
});

describe('other refusals', () => {
  it('401 without a key, before the body is read', async () => {
    const reply = await served.gateway.call('/v1/completions', { key: null, body: '{"broken' });
    expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it('404 for an unknown model, 403 for a model that the key may not use', async () => {
    const missing = await served.complete({ ...HELLO, model: 'mock/none' });
    expect([missing.status, missing.json.error.code]).toEqual([404, 'model_not_found']);
    const { key } = await served.gateway.customer({ allowedModels: ['openai/*'] });
    const closed = await served.complete(HELLO, {}, key);
    expect([closed.status, closed.json.error.code]).toEqual([403, 'model_not_allowed']);
  });

  it('402 when the prompt and 16 tokens cost more than the balance', async () => {
    const { key } = await served.gateway.customer({}, 45n);
    const body = (bytes: number) => ({ model: 'local/base', prompt: 'x'.repeat(bytes) });
    const refused = await served.complete(body(40), {}, key);
    expect([refused.status, refused.json.error.code]).toEqual([402, 'insufficient_credits']);
    served.upstream.answer = (response) =>
      response.end(JSON.stringify({ choices: [{ text: 'a' }], usage: { prompt_tokens: 9, completion_tokens: 16 } }));
    expect((await served.complete(body(36), {}, key)).json.usage.x_llm_cost_micro).toBe(41);
  });

  it('429 when the key has no requests left in this minute', async () => {
    const { key } = await served.gateway.customer({ requestsPerMinute: 1 });
    expect((await served.complete(HELLO, {}, key)).status).toBe(200);
    const { status, json } = await served.complete(HELLO, {}, key);
    expect([status, json.error.code]).toEqual([429, 'rate_limited']);
  });

  it.each([
    ['status=429 retry_after=7', 429, 'provider_rate_limited'],
    ['status=500', 503, 'provider_unavailable'],
    ['garbage', 502, 'provider_error'],
  ])('the provider failure [[mock: %s]] returns %d %s without a charge', async (script, status, code) => {
    const before = await served.balance();
    for (const stream of [false, true]) {
      const reply = await served.complete({ ...HELLO, prompt: `Hello [[mock: ${script}]]`, stream });
      expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    }
    expect(await served.balance()).toBe(before);
  });
});
