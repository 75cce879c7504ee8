import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { DeploymentEntity } from '../core/database/entities/deployment.entity';
import { ModelEntity } from '../core/database/entities/model.entity';
import { PriceVersionEntity } from '../core/database/entities/price-version.entity';
import { lockUntilCommit } from '../core/database/transaction-lock';
import { uuidV7 } from '../core/types/ids';
import type { ImportPlan } from './catalog-import';
import type { Price } from './catalog-model';
import {
  applyDecisions,
  type DecidedCatalog,
  type DeploymentDecision,
  type ModelDecision,
  type StoredCatalog,
  withoutDecisions,
} from './catalog-rows';

/** The SQL on `model`, `deployment` and `price_version`. */
@Injectable()
export class CatalogRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** A consistent snapshot of the three tables with operator overrides applied. */
  async read(): Promise<DecidedCatalog> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) =>
      applyDecisions(await readCatalog(manager)),
    );
  }

  /** The content of any price version, current or past; `null`: no version has this id. */
  async findPrice(id: string): Promise<Price | null> {
    const row = await this.dataSource.manager.findOneBy(PriceVersionEntity, { id });
    return (row?.content ?? null) as Price | null;
  }

  /**
   * Runs `plan` on the stored values of the files and writes the result in one transaction; operator overrides stay
   * unchanged. Replicas that start together run one after the other, and all but the first find nothing to write.
   */
  change(plan: (stored: StoredCatalog) => ImportPlan, nowMs: number): Promise<ImportPlan> {
    return this.dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      const planned = plan(withoutDecisions(await readCatalog(manager)));
      await writePlan(manager, planned, nowMs);
      return planned;
    });
  }
}

/** Blocks other changes of the catalogue until the transaction ends. */
export async function lockCatalog(manager: EntityManager): Promise<void> {
  await lockUntilCommit(manager, 'catalogue import');
}

/** The values of the files with overrides beside them, not yet applied. */
export async function readCatalog(manager: EntityManager): Promise<DecidedCatalog> {
  const models = await manager.find(ModelEntity, { order: { id: 'ASC' } });
  const deployments = await manager.find(DeploymentEntity, { order: { modelId: 'ASC', priority: 'ASC', id: 'ASC' } });
  // The newest revision per start time; older ones are history.
  const prices = await manager
    .createQueryBuilder(PriceVersionEntity, 'price')
    .distinctOn(['price.modelId', 'price.deploymentId', 'price.effectiveFrom'])
    .orderBy({
      'price.modelId': 'ASC',
      'price.deploymentId': 'ASC',
      'price.effectiveFrom': 'ASC',
      'price.revision': 'DESC',
    })
    .getMany();
  // The JSON columns were validated by the schema of the files.
  return {
    models: models.map((row) => ({ ...row })),
    deployments: deployments.map(withoutCreation),
    prices: prices.map(withoutCreation),
  } as DecidedCatalog;
}

function withoutCreation<Row extends { createdAt: Date }>({
  createdAt: _createdAt,
  ...row
}: Row): Omit<Row, 'createdAt'> {
  return row;
}

async function writePlan(manager: EntityManager, plan: ImportPlan, nowMs: number): Promise<void> {
  if (plan.models.length > 0) await manager.upsert(ModelEntity, [...plan.models], ['id']);
  if (plan.deployments.length > 0) await manager.upsert(DeploymentEntity, [...plan.deployments], ['id']);
  if (plan.prices.length > 0) {
    await manager.insert(
      PriceVersionEntity,
      plan.prices.map((price) => ({ ...price, id: uuidV7(nowMs) })),
    );
  }
}

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
