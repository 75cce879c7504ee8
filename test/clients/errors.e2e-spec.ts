import type OpenAI from 'openai';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { followAttempts, heldMicro, recordsOf } from './traces';

let gateway: TestGateway;
let customer: TestCustomer;
let attemptsOf: ReturnType<typeof followAttempts>;

beforeAll(async () => {
  gateway = await TestGateway.start({ UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: '3000', UPSTREAM_REPLY_TIMEOUT_MS: '3000' });
  customer = await gateway.customer();
  attemptsOf = followAttempts(gateway);
});
afterAll(() => gateway.stop());

const say = (content: string): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model: 'mock/chat-1',
  messages: [{ role: 'user', content }],
});
const HELLO = say('Hello');

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  const { sdk } = official;

  /** Sends without retries, and returns the client's error. */
  async function failureOf(body: object, key = customer.key): Promise<InstanceType<typeof sdk.APIError>> {
    const client = official.connect(gateway, key, { maxRetries: 0 });
    const failure: unknown = await client.chat.completions.create({ ...HELLO, ...body }).catch((error) => error);
    expect(failure).toBeInstanceOf(sdk.APIError);
    return failure as InstanceType<typeof sdk.APIError>;
  }

  describe('raises the error class of the status, with all fields', () => {
    it('400 BadRequestError with code, param and request id', async () => {
      const failure = await failureOf({
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }],
      });
      expect(failure).toBeInstanceOf(sdk.BadRequestError);
      expect(failure).toMatchObject({
        status: 400,
        code: 'validation_failed',
        type: 'invalid_request_error',
        param: 'messages[0].content[0].image_url.url',
        error: { request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/) },
      });
      const { request_id: requestId } = failure.error as { request_id: string };
      // Version 4 spells this name with an underscore.
      expect((failure as { request_id?: unknown }).request_id ?? failure.requestID).toBe(requestId);
      expect(failure.message).toMatch(/^400 .*url/);
    });

    it('401 AuthenticationError', async () => {
      const failure = await failureOf({}, 'sk-llm-unknown');
      expect(failure).toBeInstanceOf(sdk.AuthenticationError);
      expect(failure).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' });
    });

    it('402 APIError', async () => {
      const poor = await gateway.customer({}, 1n);
      expect(await failureOf({}, poor.key)).toMatchObject({ status: 402, code: 'insufficient_credits' });
      expect(await recordsOf(gateway, poor)).toEqual([]);
    });

    it('403 PermissionDeniedError', async () => {
      const restricted = await gateway.customer({ allowedModels: ['mock/other'] });
      const failure = await failureOf({}, restricted.key);
      expect(failure).toBeInstanceOf(sdk.PermissionDeniedError);
      expect(failure).toMatchObject({ status: 403, code: 'model_not_allowed', type: 'permission_error' });
    });

    it('404 NotFoundError for an unknown model, and for an unknown path', async () => {
      const failure = await failureOf({ model: 'mock/none' });
      expect(failure).toBeInstanceOf(sdk.NotFoundError);
      expect(failure).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });

      const client = official.connect(gateway, customer.key);
      const noPath: unknown = await client.files.list().catch((error) => error);
      expect(noPath).toBeInstanceOf(sdk.NotFoundError);
      expect(noPath).toMatchObject({ status: 404, code: 'not_found' });
    });

    it('429 RateLimitError with Retry-After', async () => {
      const failure = await failureOf(say('[[mock: status=429 retry_after=7]]'));
      expect(failure).toBeInstanceOf(sdk.RateLimitError);
      expect(failure).toMatchObject({ status: 429, code: 'provider_rate_limited', error: { retry_after: 7 } });
      expect(header(failure.headers, 'retry-after')).toBe('7');
    });

    it.each([
      ['status=500', 503, 'provider_unavailable'],
      ['garbage', 502, 'provider_error'],
      ['reset_after=0', 503, 'provider_unavailable'],
      ['status=504', 504, 'provider_timeout'],
      ['hang', 504, 'provider_timeout'],
    ])('%s: %i InternalServerError, also for a stream request', async (script, status, code) => {
      const request = say(`[[mock: ${script}]]`);
      for (const failure of await Promise.all([failureOf(request), failureOf({ ...request, stream: true })])) {
        expect(failure).toBeInstanceOf(sdk.InternalServerError);
        expect(failure).toMatchObject({ status, code });
      }
    });
  });

  describe('retries', () => {
    /** A new customer whose client has exhausted its retries. */
    async function afterFailing(
      ask: (client: OpenAI) => Promise<unknown>,
      creditMicro?: bigint,
    ): Promise<TestCustomer> {
      const failed = await gateway.customer({}, creditMicro);
      await expect(ask(official.connect(gateway, failed.key))).rejects.toThrow(sdk.APIError);
      return failed;
    }

    it('twice after a 429, each after Retry-After seconds, without a charge', async () => {
      const limited = await afterFailing((client) =>
        client.chat.completions.create(say('[[mock: status=429 retry_after=1]]')),
      );
      const attempts = attemptsOf(limited);
      expect(attempts.map(({ retryCount }) => retryCount)).toEqual([0, 1, 2]);
      // Without the header the first pause is at most half a second. Timers can fire slightly early.
      const [first, second, third] = attempts.map(({ atMs }) => atMs) as [number, number, number];
      expect(second - first).toBeGreaterThan(990);
      expect(third - second).toBeGreaterThan(990);
      const failed = { status: 429, error_code: 'provider_rate_limited', charged_micro: '0' };
      expect(await recordsOf(gateway, limited)).toMatchObject([failed, failed, failed]);
      expect(await heldMicro(gateway, limited)).toBe(0);
    });

    it('after a 503, if the error table permits it', async () => {
      const unlucky = await afterFailing((client) =>
        client.chat.completions.create(say('[[mock: status=503]]'), { maxRetries: 1 }),
      );
      expect(attemptsOf(unlucky)).toHaveLength(2);
    });

    it('never after a 501, although clients retry every 5xx by default', async () => {
      const asking = await afterFailing((client) =>
        client.post('/video/generations', {
          body: { model: 'mock/video-1', prompt: 'A cat' },
          headers: { 'Idempotency-Key': 'one' },
        }),
      );
      expect(attemptsOf(asking)).toHaveLength(1);
    });

    it.each<[string, object, bigint | undefined]>([
      ['402', {}, 1n],
      ['404', { model: 'mock/none' }, undefined],
      ['400', { n: 2 }, undefined],
    ])('never after a %s', async (_status, body, creditMicro) => {
      const refused = await afterFailing(
        (client) => client.chat.completions.create({ ...HELLO, ...body }),
        creditMicro,
      );
      expect(attemptsOf(refused)).toHaveLength(1);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});

/** Version 4 has the headers of an error as an object. */
function header(headers: unknown, name: string): string | null | undefined {
  return headers instanceof Headers ? headers.get(name) : (headers as Record<string, string>)[name];
}
