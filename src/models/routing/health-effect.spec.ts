import {
  ProviderError,
  type ProviderErrorCode,
  type ProviderErrorOptions,
} from '../../providers/contract/provider-error';
import { type HealthEffect, healthEffectOf } from './health.service';

const effectOf = (
  code: ProviderErrorCode,
  status?: number,
  options: Partial<ProviderErrorOptions> = {},
): HealthEffect =>
  healthEffectOf(
    new ProviderError(code, '', {
      phase: 'headers',
      fallback: true,
      ...options,
      ...(status && { upstream: { status } }),
    }),
  );

describe('healthEffectOf', () => {
  it.each<[string, HealthEffect, HealthEffect]>([
    ['an outage', effectOf('provider_unavailable', 503), 'failure'],
    ['no connection', effectOf('provider_unavailable', undefined, { phase: 'connect' }), 'failure'],
    ['no response', effectOf('provider_timeout'), 'failure'],
    ['an upstream timeout', effectOf('provider_timeout', 408), 'failure'],
    ['a cut connection', effectOf('provider_disconnect'), 'failure'],
    ['a broken stream', effectOf('stream_interrupted'), 'failure'],
    ['an invalid response with status 200', effectOf('provider_error', 200), 'failure'],
    ['an unknown model', effectOf('provider_error', 404), 'failure'],
    ['a refusal that may be about the prompt', effectOf('provider_error', 403, { credentialRefused: true }), 'failure'],
    ['our refused key', effectOf('provider_error', 401, { credentialRefused: true }), 'refused'],
    ['our empty account', effectOf('provider_error', 429, { credentialRefused: true }), 'refused'],
    ['a rate limit', effectOf('provider_rate_limited', 429), 'limited'],
    ['the content of the request', effectOf('validation_failed', 400), 'none'],
    ['an unknown 4xx response', effectOf('provider_error', 409), 'none'],
  ])('%s', (_what, effect, expected) => {
    expect(effect).toBe(expected);
  });
});
