import { once } from 'node:events';
import { APICallError, embed, generateText, type LanguageModel, RetryError, streamText } from 'ai';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { followAttempts, heldMicro, recordsOf, soleRecordOf } from '../traces';
import { compatibleProvider, CONVERSING, openaiProvider, silenceWarnings } from './ai-sdk';

const MODEL = 'mock/chat-1';

let gateway: TestGateway;
let customer: TestCustomer;
let attemptsOf: ReturnType<typeof followAttempts>;

beforeAll(async () => {
  silenceWarnings();
  gateway = await TestGateway.start();
  attemptsOf = followAttempts(gateway);
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe.each(CONVERSING)('%s', (_title, connect) => {
  let model: LanguageModel;
  beforeEach(() => {
    model = connect(gateway, customer, MODEL);
  });

  /** The error of a call without retries. */
  async function failureOf(request: { model: LanguageModel; prompt?: string }): Promise<APICallError> {
    const failure = await thrownBy(() => generateText({ prompt: 'Hello', maxRetries: 0, ...request }));
    expect(APICallError.isInstance(failure)).toBe(true);
    return failure as APICallError;
  }

  it('raises an APICallError with the status, the message and the whole envelope', async () => {
    const failure = await failureOf({ model: connect(gateway, customer, 'mock/none') });
    const { error } = JSON.parse(failure.responseBody ?? '');
    expect(failure).toMatchObject({ statusCode: 404, message: error.message, isRetryable: false });
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect(failure.responseHeaders).toMatchObject({ 'x-request-id': error.request_id });
    expect(failure.data).toMatchObject({ error: { code: 'model_not_found', type: 'not_found_error' } });
  });

  it.each<[number, string, () => Promise<LanguageModel>]>([
    [401, 'invalid_api_key', async () => connect(gateway, { key: 'sk-llm-unknown' }, MODEL)],
    [402, 'insufficient_credits', async () => connect(gateway, await gateway.customer({}, 1n), MODEL)],
    [403, 'model_not_allowed', async () => connect(gateway, await gateway.customer({ allowedModels: ['a/b'] }), MODEL)],
    [400, 'validation_failed', async () => connect(gateway, customer, 'mock/embed-1')],
  ])('does not retry after a %i, even with retries allowed', async (statusCode, code, prepare) => {
    const failure = await thrownBy(async () => generateText({ model: await prepare(), prompt: 'Hello' }));
    expect(failure).toMatchObject({ statusCode, isRetryable: false, data: { error: { code } } });
    expect(await recordsOf(gateway, customer)).toEqual([]);
  });

  it('retries after a 429 up to its limit, each after Retry-After seconds, without a charge', async () => {
    const prompt = 'Hi [[mock: status=429 retry_after=1]]';
    const failure = await thrownBy(() => generateText({ model, prompt, maxRetries: 1 }));
    expect(RetryError.isInstance(failure)).toBe(true);
    const { reason, errors } = failure as RetryError;
    expect(reason).toBe('maxRetriesExceeded');
    expect(errors).toMatchObject(
      [1, 2].map(() => ({
        statusCode: 429,
        isRetryable: true,
        responseHeaders: { 'retry-after': '1' },
        data: { error: { code: 'provider_rate_limited' } },
      })),
    );
    const [first, second] = attemptsOf(customer).map(({ atMs }) => atMs) as [number, number];
    expect(attemptsOf(customer)).toHaveLength(2);
    // Its default first pause is two seconds. Timers can fire slightly early.
    expect(second - first).toBeGreaterThan(990);
    expect(await recordsOf(gateway, customer)).toMatchObject(
      [1, 2].map(() => ({ status: 429, error_code: 'provider_rate_limited', charged_micro: '0' })),
    );
  });

  it('marks a 503 as retryable', async () => {
    const failure = await failureOf({ model, prompt: 'Hi [[mock: status=503]]' });
    expect(failure).toMatchObject({ statusCode: 503, isRetryable: true });
  });

  it('raises the same error for a stream request', async () => {
    const { errors, parts } = await follow(streamText({ ...failing('status=429 retry_after=1'), onError: ignore }));
    expect(parts).not.toContain('text-delta');
    expect(errors).toMatchObject([{ statusCode: 429, data: { error: { code: 'provider_rate_limited' } } }]);
    expect(APICallError.isInstance(errors[0])).toBe(true);
  });

  it('reports a mid-stream failure with a readable message, and does not finish normally', async () => {
    const { errors, parts, text, finishReasons } = await follow(
      streamText({ ...failing('reset_after=3'), onError: ignore }),
    );
    expect(text).not.toBe('');
    expect(parts).toContain('error');
    expect(finishReasons).toEqual(['error']);
    expect(new Set(errors.map(messageOf))).toEqual(new Set(['The connection to the provider failed.']));
    expect(await recordsOf(gateway, customer)).toMatchObject([{ status: 502, error_code: 'stream_interrupted' }]);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  it('stops on abort in mid-stream, and charges the delivered part', async () => {
    const abort = new AbortController();
    const prompt = 'Count [[mock: tokens=2000 delay=5ms]]';
    const result = streamText({ model, prompt, abortSignal: abort.signal, onError: ignore });
    let deltas = 0;
    const parts: string[] = [];
    for await (const { type } of result.stream) {
      parts.push(type);
      if (type === 'text-delta' && ++deltas === 5) abort.abort();
    }
    expect(parts.at(-1)).toBe('abort');
    expect(deltas).toBeLessThan(500);
    const record = await soleRecordOf(gateway, customer);
    expect(record).toMatchObject({ status: 499, error_code: null, streamed: true, usage_estimated: true });
    expect(Number(record.charged_micro)).toBeGreaterThan(0);
    expect(Number(record.output_text)).toBeLessThan(500);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  it('charges nothing for a call that is aborted before its first token', async () => {
    const abort = new AbortController();
    const asking = generateText({ model, prompt: 'Hi [[mock: hang]]', abortSignal: abort.signal, maxRetries: 0 });
    await once(gateway.app.getHttpServer(), 'request');
    setTimeout(() => abort.abort(), 100);
    expect(await thrownBy(() => asking)).toMatchObject({ name: 'AbortError' });
    expect(await soleRecordOf(gateway, customer)).toMatchObject({ status: 499, charged_micro: '0' });
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  const failing = (script: string) => ({ model, prompt: `Tell me a story [[mock: ${script}]]`, maxRetries: 0 });
});

describe.each([
  ['@ai-sdk/openai', openaiProvider],
  ['@ai-sdk/openai-compatible', compatibleProvider],
])('%s for embeddings', (_title, provider) => {
  it('raises an APICallError that names the field', async () => {
    const model = provider(gateway, customer).embeddingModel('mock/embed-1');
    const failure = await thrownBy(() => embed({ model, value: '' }));
    expect(failure).toMatchObject({
      statusCode: 400,
      data: { error: { code: 'validation_failed', param: 'input[0]' } },
    });
    expect(attemptsOf(customer)).toHaveLength(1);
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});

const ignore = (): void => {};

async function thrownBy(call: () => PromiseLike<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

interface Followed {
  /** Types of all parts. */
  readonly parts: string[];
  readonly errors: unknown[];
  readonly finishReasons: string[];
  readonly text: string;
}

/** Reads a stream to its end, normal or not. */
async function follow({ stream }: Pick<ReturnType<typeof streamText>, 'stream'>): Promise<Followed> {
  const parts: string[] = [];
  const errors: unknown[] = [];
  const finishReasons: string[] = [];
  let text = '';
  for await (const part of stream) {
    parts.push(part.type);
    if (part.type === 'error') errors.push(part.error);
    if (part.type === 'finish') finishReasons.push(part.finishReason);
    if (part.type === 'text-delta') text += part.text;
  }
  return { parts, errors, finishReasons, text };
}

/** An error of a stream is an `Error`, or the `error` object of the envelope. */
function messageOf(error: unknown): string {
  return (error as { readonly message: string }).message;
}
