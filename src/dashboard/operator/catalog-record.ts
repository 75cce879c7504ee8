import type { PriceVersionEntity } from '../../core/database/entities/price-version.entity';
import { toRateLimitFields } from '../../core/types/rate-limits';
import type { components } from '../../contract/dashboard';
import type { CatalogSource } from '../../core/database/entities/model.entity';
import type { DecidedDeployment, DecidedModel } from '../../models/catalog-admin.service';

type Schemas = components['schemas'];

export function toModelRecord({ row, obstacles, deployments }: DecidedModel): Schemas['OperatorModel'] {
  return {
    object: 'operator.model',
    id: row.id,
    name: row.displayName,
    modality: row.modality,
    source: toSource(row.source),
    status: row.status,
    retires_on: row.retiresOn,
    enabled: row.enabled,
    decided_enabled: row.decidedEnabled,
    served: obstacles.length === 0,
    not_served_because: [...obstacles],
    deployments: deployments.length,
    ...toRateLimitFields(row.limits),
  };
}

export function toDeploymentRecord({ row, obstacles }: DecidedDeployment): Schemas['Deployment'] {
  return {
    object: 'deployment',
    id: row.id,
    model: row.modelId,
    provider: row.provider,
    upstream_model: row.upstreamModel,
    source: toSource(row.source),
    retires_on: row.settings.retires ?? null,
    enabled: row.enabled,
    priority: row.priority,
    weight: row.weight,
    decided: { enabled: row.decidedEnabled, priority: row.decidedPriority, weight: row.decidedWeight },
    callable: obstacles.length === 0,
    not_callable_because: [...obstacles],
  };
}

export function toPriceRecord(version: PriceVersionEntity): Schemas['PriceVersion'] {
  return {
    object: 'price_version',
    id: version.id,
    model: version.modelId,
    deployment_id: version.deploymentId,
    effective_from: version.effectiveFrom.toISOString(),
    effective_to: version.effectiveTo?.toISOString() ?? null,
    revision: version.revision,
    source: toSource(version.source),
    reference: version.reference,
    price: version.content as Schemas['PriceVersion']['price'],
    created_at: version.createdAt.toISOString(),
  };
}

function toSource(source: CatalogSource): Schemas['CatalogSource'] {
  return source === 'admin' ? 'operator' : source;
}
