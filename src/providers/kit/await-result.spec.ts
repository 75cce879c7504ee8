import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { ProviderError, type ProviderErrorCode } from '../contract/provider-error';
import { awaitResult, SharedDeadline } from './await-result';

const limits = (firstTokenMs: number) => ({ connectMs: 1_000, firstTokenMs, idleMs: 1_000, totalMs: 60_000 });
const failure = (code: ProviderErrorCode, status?: number, retryAfterSeconds?: number) =>
  new ProviderError(code, 'scripted', { phase: 'connect', fallback: true, upstream: { status }, retryAfterSeconds });

describe('awaitResult', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  /** Plays the outcomes of polls; the last one repeats. */
  function play(outcomes: readonly (string | null | Error)[], firstTokenMs = 30_000, signal?: AbortSignal) {
    let polls = 0;
    const deadline = new SharedDeadline(providerCall({ deadlines: limits(firstTokenMs), ...(signal && { signal }) }));
    const result = awaitResult(deadline, () => {
      const outcome = outcomes[Math.min(polls++, outcomes.length - 1)] as string | null | Error;
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    });
    result.catch(() => undefined);
    return { result, polls: () => polls };
  }

  it('polls until there is a result, with growing pauses', async () => {
    const { result, polls } = play([null, null, 'done']);
    await jest.advanceTimersByTimeAsync(250 + 375 + 560);
    expect(polls()).toBe(2);
    await jest.advanceTimersByTimeAsync(3);
    await expect(result).resolves.toBe('done');
  });

  it('continues after failed polls that do not reveal the state of the work', async () => {
    const passing = [failure('provider_unavailable', 503), failure('provider_disconnect'), failure('provider_timeout')];
    const { result } = play([...passing, ...passing, 'done']);
    await jest.advanceTimersByTimeAsync(20_000);
    await expect(result).resolves.toBe('done');
  });

  it('waits as long as the upstream asks', async () => {
    const { result, polls } = play([failure('provider_rate_limited', 429, 9), 'done']);
    await jest.advanceTimersByTimeAsync(250 + 8_990);
    expect(polls()).toBe(1);
    await jest.advanceTimersByTimeAsync(20);
    await expect(result).resolves.toBe('done');
  });

  it('ends after three refusals in a row, and allows no other attempt', async () => {
    const refused = failure('provider_error', 404);
    const { result, polls } = play([refused, refused, null, refused, refused, refused]);
    const error = providerErrorOf(result);
    await jest.advanceTimersByTimeAsync(20_000);
    const { options } = await error;
    expect(polls()).toBe(6);
    expect([options.phase, options.fallback, options.outcomeUnknown, options.upstream?.status]).toEqual([
      'first_token',
      false,
      true,
      undefined,
    ]);
  });

  it('ends at once when the work has failed', async () => {
    const { result, polls } = play([failure('validation_failed')]);
    const error = providerErrorOf(result);
    await jest.advanceTimersByTimeAsync(300);
    const { code, options } = await error;
    expect([code, polls(), options.fallback, options.outcomeUnknown]).toEqual([
      'validation_failed',
      1,
      false,
      undefined,
    ]);
  });

  it('ends with the time limit of the whole call', async () => {
    const { result } = play([null], 2_000);
    const error = providerErrorOf(result);
    await jest.advanceTimersByTimeAsync(2_000);
    const { code, options } = await error;
    expect([code, options.fallback, options.outcomeUnknown]).toEqual(['provider_timeout', false, true]);
  });

  it('ends when the call is aborted', async () => {
    const abort = new AbortController();
    const { result } = play([null], 30_000, abort.signal);
    const error = providerErrorOf(result);
    await jest.advanceTimersByTimeAsync(100);
    abort.abort();
    await jest.advanceTimersByTimeAsync(1);
    expect((await error).code).toBe('provider_disconnect');
  });
});
