import type { ProviderError } from '../../providers/contract/provider-error';

/**
 * The effect of a failed call on the health of its deployment. `failure`: counts towards the breaker. `refused`: our account
 * is refused, which opens the breaker at once. `limited`: starts a cool-down. `none`: the request was at fault.
 */
export type HealthEffect = 'failure' | 'refused' | 'limited' | 'none';

/** Statuses about the deployment or our access to it, and the upstream's timeout. */
const STATUSES_OF_THE_DEPLOYMENT: ReadonlySet<number> = new Set([403, 404, 408]);

/**
 * Other 4xx responses never count: a client that provokes them could open the breaker for all clients. For the same reason
 * 403, which some upstreams also return for offensive prompts, has to occur several times in a row.
 */
export function healthEffectOf({ code, options }: ProviderError): HealthEffect {
  const status = options.upstream?.status ?? 0;
  if (code === 'provider_rate_limited') return 'limited';
  if (code === 'validation_failed') return 'none';
  if (options.credentialRefused === true && status !== 403) return 'refused';
  if (status >= 400 && status < 500 && !STATUSES_OF_THE_DEPLOYMENT.has(status)) return 'none';
  return 'failure';
}
