import { ProviderError, type ProviderErrorCode } from '../providers/contract/provider-error';
import { mostUseful } from './route-failure';

const failure = (code: ProviderErrorCode, retryAfterSeconds?: number): ProviderError =>
  new ProviderError(code, code, { phase: 'headers', fallback: true, retryAfterSeconds });

describe('the failure that a client is told of', () => {
  it.each<[string, ProviderErrorCode[], ProviderErrorCode]>([
    ['a rate limit, which ends', ['provider_unavailable', 'provider_rate_limited'], 'provider_rate_limited'],
    ['an outage before silence', ['provider_timeout', 'provider_unavailable'], 'provider_unavailable'],
    ['silence before a refused account', ['provider_error', 'provider_timeout'], 'provider_timeout'],
    ['what was asked before what could not be', ['validation_failed', 'provider_error'], 'provider_error'],
    ['the only one', ['provider_disconnect'], 'provider_disconnect'],
  ])('is %s', (_which, codes, expected) => {
    expect(mostUseful(codes.map((code) => failure(code)))?.code).toBe(expected);
  });

  it('names the soonest time that any of its kind has named', () => {
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

  it('is none when nobody was asked', () => {
    expect(mostUseful([])).toBeUndefined();
  });
});
