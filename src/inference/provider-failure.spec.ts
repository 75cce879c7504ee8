import { ProviderError, type ProviderErrorCode } from '../providers/contract/provider-error';
import { mostUseful } from './provider-failure';

const failure = (code: ProviderErrorCode, retryAfterSeconds?: number): ProviderError =>
  new ProviderError(code, code, { phase: 'headers', fallback: true, retryAfterSeconds });

describe('mostUseful', () => {
  it.each<[string, ProviderErrorCode[], ProviderErrorCode]>([
    ['a rate limit over an outage', ['provider_unavailable', 'provider_rate_limited'], 'provider_rate_limited'],
    ['an outage over a timeout', ['provider_timeout', 'provider_unavailable'], 'provider_unavailable'],
    ['a timeout over a refused account', ['provider_error', 'provider_timeout'], 'provider_timeout'],
    ['a provider error over an unsupported request', ['validation_failed', 'provider_error'], 'provider_error'],
    ['the only failure', ['provider_disconnect'], 'provider_disconnect'],
  ])('returns %s', (_which, codes, expected) => {
    expect(mostUseful(codes.map((code) => failure(code)))?.code).toBe(expected);
  });

  it('returns the shortest Retry-After among failures with the same code', () => {
    const failures = [
      failure('provider_rate_limited', 30),
      failure('provider_unavailable', 1),
      failure('provider_rate_limited', 7),
      failure('provider_rate_limited'),
    ];
    expect(mostUseful(failures)?.options.retryAfterSeconds).toBe(7);
    expect(mostUseful([failure('provider_unavailable'), failure('provider_unavailable')])?.options).toMatchObject({
      retryAfterSeconds: undefined,
    });
  });

  it('returns undefined without failures', () => {
    expect(mostUseful([])).toBeUndefined();
  });
});
