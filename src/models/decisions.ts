/** Applies operator overrides to the values of the files, or removes them. Pure. */
import { NO_LIMITS, type RateLimits } from '../core/types/rate-limits';
import type { DecidedCatalog, DecidedDeploymentRow, DecidedModelRow, StoredCatalog } from './catalog-rows';

/** The effective catalogue. Deployments of a model are sorted by effective priority, then by id. */
export function applyDecisions({ models, deployments, prices }: DecidedCatalog): DecidedCatalog {
  return {
    models: models.map((row) => ({
      ...row,
      enabled: row.decidedEnabled ?? row.enabled,
      limits: row.decidedLimits === null ? row.limits : decideLimits(row.limits, row.decidedLimits),
    })),
    deployments: deployments
      .map((row) => ({
        ...row,
        enabled: row.decidedEnabled ?? row.enabled,
        priority: row.decidedPriority ?? row.priority,
        weight: row.decidedWeight ?? row.weight,
      }))
      .toSorted(byPriority),
    prices,
  };
}

/** The values of the files, which the import compares with new files. */
export function withoutDecisions({ models, deployments, prices }: DecidedCatalog): StoredCatalog {
  return { models: models.map(undecidedModel), deployments: deployments.map(undecidedDeployment), prices };
}

/** `null` when nothing is limited, as for a model without limits. */
function decideLimits(limits: RateLimits | null, decided: Partial<RateLimits>): RateLimits | null {
  const held = { ...NO_LIMITS, ...limits, ...decided };
  return Object.values(held).every((limit) => limit === null) ? null : held;
}

function byPriority(a: DecidedDeploymentRow, b: DecidedDeploymentRow): number {
  if (a.modelId !== b.modelId) return a.modelId < b.modelId ? -1 : 1;
  return a.priority - b.priority || (a.id < b.id ? -1 : 1);
}

function undecidedModel({
  decidedEnabled: _enabled,
  decidedLimits: _limits,
  ...row
}: DecidedModelRow): StoredCatalog['models'][number] {
  return row;
}

function undecidedDeployment({
  decidedEnabled: _enabled,
  decidedPriority: _priority,
  decidedWeight: _weight,
  ...row
}: DecidedDeploymentRow): StoredCatalog['deployments'][number] {
  return row;
}
