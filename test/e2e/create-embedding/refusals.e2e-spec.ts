import { EmbeddingGateway } from './embedding-gateway';

let served: EmbeddingGateway;

beforeAll(async () => {
  served = await EmbeddingGateway.start();
});
afterAll(() => served.stop());

const BODY = { model: 'mock/embed-1', input: 'text' };

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['an empty text', { input: '' }, 'input'],
    ['no input', { input: undefined }, 'input'],
    ['null', { input: null }, 'input'],
    ['no texts', { input: [] }, 'input'],
    ['an empty text among others', { input: ['a', '', 'b'] }, 'input[1]'],
    ['an input that is not a text', { input: ['a', 7] }, 'input[1]'],
    ['a negative token id', { input: [1, -1] }, 'input[1]'],
    ['a fractional token id', { input: [1.5] }, 'input[0]'],
    ['an empty list of token ids', { input: [[1], []] }, 'input[1]'],
    ['more than 2,048 inputs', { input: Array(2_049).fill('a') }, 'input'],
    ['an unknown format', { encoding_format: 'int8' }, 'encoding_format'],
    ['zero dimensions', { dimensions: 0 }, 'dimensions'],
    ['more dimensions than the model has', { dimensions: 2_000 }, 'dimensions'],
    ['dimensions for a model with a fixed length', { model: 'local/fixed', dimensions: 2 }, 'dimensions'],
    ['a model of another kind', { model: 'mock/chat-1' }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
  ])('%s', async (_case, change, param) => {
    const before = await served.balance();
    const reply = await served.embed({ ...BODY, ...change });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, 'validation_failed', param]);
    expect(await served.balance()).toBe(before);
  });

  it('refuses a vector length that the upstream ignores', async () => {
    served.answerWith([[1, 2, 3]]);
    const reply = await served.embed({ model: 'local/embed', input: 'a', dimensions: 2 });
    expect([reply.status, reply.json.error.param]).toEqual([400, 'dimensions']);
  });
});

describe('other refusals', () => {
  it('401 without a key, before the body is read', async () => {
    const reply = await served.gateway.call('/v1/embeddings', { key: null, body: '{"broken' });
    expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it('404 for an unknown model', async () => {
    const reply = await served.embed({ ...BODY, model: 'mock/embed-2' });
    expect([reply.status, reply.json.error.code]).toEqual([404, 'model_not_found']);
  });

  it('403 for a key limited to images or to other models', async () => {
    const images = await served.gateway.customer({ allowedModalities: ['image'] });
    const others = await served.gateway.customer({ allowedModels: ['mock/chat-1'] });
    const codes = [];
    for (const { key } of [images, others]) codes.push((await served.embed(BODY, {}, key)).json.error.code);
    expect(codes).toEqual(['modality_not_allowed', 'model_not_allowed']);
  });

  it('402 when the estimate exceeds the balance by a token, and not when it equals it', async () => {
    const poor = await served.gateway.customer({}, 25n);
    const body = (length: number) => ({ model: 'local/embed', input: 'x'.repeat(length) });
    const refused = await served.embed(body(101), {}, poor.key);
    expect([refused.status, refused.json.error.code]).toEqual([402, 'insufficient_credits']);
    served.answerWith([[1]], { prompt_tokens: 25 });
    expect((await served.embed(body(100), {}, poor.key)).json.usage.x_llm_cost_micro).toBe(25);
    expect(await served.balance(poor)).toBe(0);
  });

  it('429 when the key has no tokens left in this minute', async () => {
    const limited = await served.gateway.customer({ tokensPerMinute: 100 });
    expect((await served.embed({ ...BODY, input: 'x'.repeat(400) }, {}, limited.key)).status).toBe(200);
    const reply = await served.embed({ ...BODY, input: 'x'.repeat(8) }, {}, limited.key);
    expect([reply.status, reply.json.error.code]).toEqual([429, 'tokens_per_minute_exceeded']);
  });

  it.each([
    ['status=429 retry_after=7', 429, 'provider_rate_limited'],
    ['status=500', 503, 'provider_unavailable'],
    ['status=401', 502, 'provider_error'],
    ['garbage', 502, 'provider_error'],
    ['reset_after=0', 503, 'provider_unavailable'],
  ])('the provider failure [[mock: %s]] returns %d %s without a charge', async (script, status, code) => {
    const before = await served.balance();
    const reply = await served.embed({ ...BODY, input: `[[mock: ${script}]] text` });
    expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    expect(await served.balance()).toBe(before);
  });
});
