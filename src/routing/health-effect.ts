import type { ProviderError } from '../providers/contract/provider-error';

/**
 * What a failed call says about its deployment. `failure`: it is not well. `refused`: our account is, so that waiting for
 * more of the same is pointless. `limited`: it is well and busy. `none`: nothing; the request was at fault.
 */
export type HealthEffect = 'failure' | 'refused' | 'limited' | 'none';

/** Refusals that name the deployment or our right to use it, and the upstream's own timeout. */
const STATUSES_OF_THE_DEPLOYMENT: ReadonlySet<number> = new Set([403, 404, 408]);

/**
 * Other answers of 4xx never count: a client that can provoke them could shut a deployment for everybody else. For the
 * same reason 403, with which some upstreams also answer offensive prompts, has to come several times in a row.
 */
export function healthEffectOf({ code, options }: ProviderError): HealthEffect {
  const status = options.upstream?.status ?? 0;
  if (code === 'provider_rate_limited') return 'limited';
  if (code === 'validation_failed') return 'none';
  if (options.credentialRefused === true && status !== 403) return 'refused';
  if (status >= 400 && status < 500 && !STATUSES_OF_THE_DEPLOYMENT.has(status)) return 'none';
  return 'failure';
}
