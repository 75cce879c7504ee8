import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import { mayFallBack, mayRetry, pauseMs } from './attempt-policy';

const failure = (code: ProviderErrorCode, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError(code, '', { phase: 'headers', fallback: true, ...options });

const unreachable = failure('provider_unavailable', { phase: 'connect', retrySame: true });
const outage = failure('provider_unavailable', { phase: 'first_token', retrySame: true, upstream: { status: 503 } });
const reset = failure('provider_unavailable');
const limited = failure('provider_rate_limited', { upstream: { status: 429 } });

describe('mayRetry on the same deployment', () => {
  it.each<[string, ProviderError, boolean, boolean]>([
    ['after a failed connection', unreachable, true, true],
    ['after a 503 response', outage, true, false],
    ['after a connection reset once the request was sent', reset, false, false],
    ['after a 429 response', limited, false, false],
  ])('decides for repeatable and at-most-once work %s', (_what, error, text, image) => {
    expect([mayRetry(error, 10, false, false), mayRetry(error, 10, false, true)]).toEqual([text, image]);
  });

  it('retries a slow failure only when no other deployment is left', () => {
    expect(mayRetry(unreachable, 1_001, false, false)).toBe(false);
    expect(mayRetry(unreachable, 1_001, true, false)).toBe(true);
  });

  it('honours a Retry-After of up to 2 seconds and does not retry after a longer one', () => {
    const says = (retryAfterSeconds: number): ProviderError =>
      failure('provider_unavailable', { retrySame: true, retryAfterSeconds });
    expect(mayRetry(says(2), 10, true, false)).toBe(true);
    expect(pauseMs(says(2), () => 0)).toBe(2_000);
    expect(mayRetry(says(3), 10, true, false)).toBe(false);
  });

  it('backs off for a random 50 to 250 ms', () => {
    expect([pauseMs(outage, () => 0), pauseMs(outage, () => 1)]).toEqual([50, 250]);
  });
});

describe('mayFallBack to another deployment', () => {
  it.each<[string, ProviderError, boolean, boolean]>([
    ['after a failed connection', unreachable, true, true],
    ['after a rate limit', limited, true, true],
    ['after a refused credential', failure('provider_error', { upstream: { status: 401 } }), true, true],
    ['after a 503', outage, true, false],
    ['after a connection reset', reset, true, false],
    ['after a timeout', failure('provider_timeout'), true, false],
    ['after a refused prompt', failure('validation_failed', { fallback: false }), false, false],
    ['after the first token', failure('stream_interrupted', { phase: 'stream', fallback: false }), false, false],
    [
      'when the deployment lacks a feature',
      failure('validation_failed', { phase: 'connect', fallback: false }),
      true,
      true,
    ],
  ])('decides for repeatable and at-most-once work %s', (_when, error, text, image) => {
    expect([mayFallBack(error, false), mayFallBack(error, true)]).toEqual([text, image]);
  });
});
