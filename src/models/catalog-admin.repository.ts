import { type EntityManager, IsNull } from 'typeorm';
import { DeploymentEntity } from '../core/database/entities/deployment.entity';
import { ModelEntity } from '../core/database/entities/model.entity';
import { PriceVersionEntity } from '../core/database/entities/price-version.entity';
import type { DeploymentDecision, ModelDecision } from './catalog-rows';

/** A model (primary key) and a deployment with a price history; `null`: the history of the model. */
export interface PricePlace {
  readonly modelId: string;
  readonly deploymentId: string | null;
  readonly effectiveFrom: Date;
}

export async function updateModelDecision(
  manager: EntityManager,
  modelId: string,
  decision: Partial<ModelDecision>,
): Promise<void> {
  if (Object.keys(decision).length > 0) await manager.update(ModelEntity, { id: modelId }, decision);
}

export async function updateDeploymentDecision(
  manager: EntityManager,
  deploymentId: string,
  decision: Partial<DeploymentDecision>,
): Promise<void> {
  if (Object.keys(decision).length > 0) await manager.update(DeploymentEntity, { id: deploymentId }, decision);
}

/** The next revision for a start time. Requires the catalogue lock until it is written. */
export async function findNextRevision(manager: EntityManager, place: PricePlace): Promise<number> {
  const [row] = await manager.query<{ revision: number | null }[]>(
    `SELECT max(revision) AS revision FROM price_version
      WHERE model_id = $1 AND deployment_id IS NOT DISTINCT FROM $2 AND effective_from = $3`,
    [place.modelId, place.deploymentId, place.effectiveFrom],
  );
  return (row?.revision ?? 0) + 1;
}

/** The revisions for a start time, latest first. Stable only under the catalogue lock. */
export function findRevisions(
  manager: EntityManager,
  { modelId, deploymentId, effectiveFrom }: PricePlace,
): Promise<PriceVersionEntity[]> {
  return manager.find(PriceVersionEntity, {
    where: { modelId, deploymentId: deploymentId ?? IsNull(), effectiveFrom },
    order: { revision: 'DESC' },
  });
}

/** The price versions of a model and its deployments, newest first: ids ascend with time. */
export function findPriceVersions(
  manager: EntityManager,
  modelId: string,
  { limit, beforeId }: { readonly limit: number; readonly beforeId: string | null },
): Promise<PriceVersionEntity[]> {
  const query = manager
    .createQueryBuilder(PriceVersionEntity, 'price')
    .where('price.modelId = :modelId', { modelId })
    .orderBy('price.id', 'DESC')
    .limit(limit);
  if (beforeId !== null) query.andWhere('price.id < :beforeId', { beforeId });
  return query.getMany();
}
