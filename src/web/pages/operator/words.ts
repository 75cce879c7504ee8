import type { components } from '../../../contract/dashboard';

type Schemas = components['schemas'];
type Reason =
  Schemas['OperatorModel']['not_served_because'][number] | Schemas['Deployment']['not_callable_because'][number];

const REASONS: Readonly<Record<Reason, string>> = {
  disabled: 'disabled',
  retired: 'retired',
  unpriced: 'no price in force',
  provider_not_configured: 'provider not configured',
  deployments_disabled: 'all deployments disabled',
};

/** Why a model is not served or a deployment not called. */
export function reasonsInWords(reasons: readonly Reason[]): string {
  return reasons.map((reason) => REASONS[reason]).join(', ');
}

export const SOURCES: Readonly<Record<Schemas['CatalogSource'], string>> = {
  builtin: 'built-in catalogue',
  file: 'catalogue file',
  operator: 'operator',
};

/** Who decided whether the model is enabled. */
export function decidedBy({ decided_enabled: decided }: Schemas['OperatorModel']): string {
  return decided === null ? 'catalogue files' : 'operator';
}

export const BREAKER_STATES: Readonly<Record<Schemas['BreakerState'], string>> = {
  closed: 'closed',
  open: 'open',
  cooling_down: 'cooling down',
};

/** Whether a deployment is kept from being called after failures or a rate limit, here or on all instances. */
export function isHeldBack({ state, shared_state: shared }: Schemas['DeploymentHealth']): boolean {
  return state !== 'closed' || (shared !== null && shared !== 'closed');
}

/** What a price applies to. */
export function scopeName(deploymentId: string | null, deployments: ReadonlyArray<Schemas['Deployment']>): string {
  if (deploymentId === null) return 'All deployments without a separate price';
  const deployment = deployments.find(({ id }) => id === deploymentId);
  return deployment === undefined ? 'A former deployment' : `${deployment.provider}: ${deployment.upstream_model}`;
}
