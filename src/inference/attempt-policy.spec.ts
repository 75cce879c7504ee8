import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import { mayFallBack, mayRetry, pauseMs } from './attempt-policy';

const failure = (code: ProviderErrorCode, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError(code, '', { phase: 'headers', fallback: true, ...options });

const unreachable = failure('provider_unavailable', { phase: 'connect', retrySame: true });
const outage = failure('provider_unavailable', { phase: 'first_token', retrySame: true, upstream: { status: 503 } });
const reset = failure('provider_unavailable');
const limited = failure('provider_rate_limited', { upstream: { status: 429 } });

describe('the same deployment', () => {
  it.each<[string, ProviderError, boolean, boolean]>([
    ['that could not be reached', unreachable, true, true],
    ['that answered 503', outage, true, false],
    ['that cut the connection after the request', reset, false, false],
    ['that limits its rate', limited, false, false],
  ])('%s', (_what, error, text, image) => {
    expect([mayRetry(error, 10, false, false), mayRetry(error, 10, false, true)]).toEqual([text, image]);
  });

  it('is not waited for twice while another one is left', () => {
    expect(mayRetry(unreachable, 1_001, false, false)).toBe(false);
    expect(mayRetry(unreachable, 1_001, true, false)).toBe(true);
  });

  it('is asked again when it says soon, and not when it says later', () => {
    const says = (retryAfterSeconds: number): ProviderError =>
      failure('provider_unavailable', { retrySame: true, retryAfterSeconds });
    expect(mayRetry(says(2), 10, true, false)).toBe(true);
    expect(pauseMs(says(2), () => 0)).toBe(2_000);
    expect(mayRetry(says(3), 10, true, false)).toBe(false);
  });

  it('is given between 50 and 250 ms, not the same for all', () => {
    expect([pauseMs(outage, () => 0), pauseMs(outage, () => 1)]).toEqual([50, 250]);
  });
});

describe('another deployment', () => {
  it.each<[string, ProviderError, boolean, boolean]>([
    ['after no connection', unreachable, true, true],
    ['after a rate limit', limited, true, true],
    ['after a refused credential', failure('provider_error', { upstream: { status: 401 } }), true, true],
    ['after a 503', outage, true, false],
    ['after a cut connection', reset, true, false],
    ['after silence', failure('provider_timeout'), true, false],
    ['after a refused prompt', failure('validation_failed', { fallback: false }), false, false],
    ['after the first token', failure('stream_interrupted', { phase: 'stream', fallback: false }), false, false],
    ['when this one lacks a feature', failure('validation_failed', { phase: 'connect', fallback: false }), true, true],
  ])('%s', (_when, error, text, image) => {
    expect([mayFallBack(error, false), mayFallBack(error, true)]).toEqual([text, image]);
  });
});
