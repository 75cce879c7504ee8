/**
 * The operator's view of the catalogue: all models, whether each is served and if not why, and overrides of the files.
 * Every change is committed before it is announced; requests use the same rules (`serving.ts`).
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../core/database/audit-log';
import type { Actor } from '../core/types/actor';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { RATE_LIMIT_FIELDS, type RateLimits } from '../core/types/rate-limits';
import { ProvidersService } from '../providers/providers.service';
import { lockCatalog, readCatalog, updateDeploymentDecision, updateModelDecision } from './catalog.repository';
import { applyDecisions, type DecidedCatalog, type DecidedDeploymentRow } from './catalog-rows';
import { CatalogAnnouncer } from './model-catalog.service';
import { whyNotCallable } from './review-catalog';
import { type DeploymentServing, type ModelServing, reviewServing } from './serving';

export type DecidedModel = ModelServing<DecidedCatalog>;
export type DecidedDeployment = DeploymentServing<DecidedDeploymentRow>;

/** `undefined`: unchanged. */
export interface ModelChanges {
  /** `null`: use the files' value. */
  readonly enabled?: boolean | null;
  /** Across all callers; `null`: no limit. */
  readonly limits?: Partial<RateLimits>;
}

/** `undefined`: unchanged; `null`: use the value of the files. */
export interface DeploymentChanges {
  readonly enabled?: boolean | null;
  /** Lowest first. */
  readonly priority?: number | null;
  readonly weight?: number | null;
}

@Injectable()
export class CatalogAdminService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(ProvidersService) private readonly providers: Pick<ProvidersService, 'configuredIds'>,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CatalogAnnouncer) private readonly announcer: Pick<CatalogAnnouncer, 'announce'>,
  ) {}

  /** All models, sorted by id. */
  listModels(): Promise<readonly DecidedModel[]> {
    return this.dataSource.transaction('REPEATABLE READ', (manager) => this.review(manager));
  }

  /** @throws GatewayError `not_found`. */
  async requireDeployment(deploymentId: string): Promise<DecidedDeployment> {
    return findDeployment(await this.listModels(), deploymentId).deployment;
  }

  /** @throws GatewayError `not_found`, `conflict` when enabling a model without a price. */
  async updateModel(modelId: string, changes: ModelChanges, actor: Actor): Promise<DecidedModel> {
    return this.change(async (manager) => {
      const before = findModel(await this.review(manager), modelId);
      if (changes.enabled === true && before.deployments.every(({ obstacles }) => obstacles.includes('unpriced'))) {
        throw new GatewayError('conflict', 'The model has no price in force and cannot be enabled. Add a price first.');
      }
      await updateModelDecision(manager, modelId, {
        ...(changes.enabled !== undefined && { decidedEnabled: changes.enabled }),
        ...(changes.limits !== undefined &&
          Object.keys(changes.limits).length > 0 && {
            decidedLimits: { ...before.row.decidedLimits, ...changes.limits },
          }),
      });
      const after = findModel(await this.review(manager), modelId);
      await recordAudit(manager, {
        organizationId: null,
        actor,
        action: 'model.updated',
        target: { type: 'model', id: modelId },
        before: describeModel(before, changes),
        after: describeModel(after, changes),
      });
      return after;
    });
  }

  /** @throws GatewayError `not_found`, `conflict` when enabling a deployment without an adapter. */
  async updateDeployment(deploymentId: string, changes: DeploymentChanges, actor: Actor): Promise<DecidedDeployment> {
    return this.change(async (manager) => {
      const { deployment: before } = findDeployment(await this.review(manager), deploymentId);
      if (changes.enabled === true) assertCallable(before.row);
      await updateDeploymentDecision(manager, deploymentId, {
        ...(changes.enabled !== undefined && { decidedEnabled: changes.enabled }),
        ...(changes.priority !== undefined && { decidedPriority: changes.priority }),
        ...(changes.weight !== undefined && { decidedWeight: changes.weight }),
      });
      const { deployment: after } = findDeployment(await this.review(manager), deploymentId);
      await recordAudit(manager, {
        organizationId: null,
        actor,
        action: 'deployment.updated',
        target: { type: 'deployment', id: deploymentId },
        before: describeDeployment(before, changes),
        after: describeDeployment(after, changes),
      });
      return after;
    });
  }

  /** The catalogue with overrides applied, as for requests, but including models that are not served. */
  private async review(manager: EntityManager): Promise<readonly DecidedModel[]> {
    return reviewServing(applyDecisions(await readCatalog(manager)), this.providers.configuredIds, this.clock.now());
  }

  private async change<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    const result = await this.dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      return work(manager);
    });
    await this.announcer.announce();
    return result;
  }
}

/** @throws GatewayError `not_found`. */
function findModel(models: readonly DecidedModel[], modelId: string): DecidedModel {
  const model = models.find(({ row }) => row.id === modelId);
  if (model === undefined) throw modelNotFound();
  return model;
}

export function modelNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such model.');
}

function findDeployment(
  models: readonly DecidedModel[],
  deploymentId: string,
): { readonly model: DecidedModel; readonly deployment: DecidedDeployment } {
  for (const model of models) {
    const deployment = model.deployments.find(({ row }) => row.id === deploymentId);
    if (deployment !== undefined) return { model, deployment };
  }
  throw new GatewayError('not_found', 'There is no such deployment.');
}

function assertCallable({ dialect }: DecidedDeploymentRow): void {
  const reason = whyNotCallable({ dialect: (dialect ?? undefined) as never });
  if (reason !== null) throw new GatewayError('conflict', `The deployment cannot be called: ${reason}.`);
}

function describeModel({ row }: DecidedModel, changes: ModelChanges): object {
  return {
    ...(changes.enabled !== undefined && { enabled: row.enabled }),
    ...pickLimits(row.limits, changes.limits ?? {}),
  };
}

/** The changed limits under their API names. */
function pickLimits(limits: RateLimits | null, changes: Partial<RateLimits>): object {
  const names = Object.keys(changes) as (keyof RateLimits)[];
  return Object.fromEntries(names.map((name) => [RATE_LIMIT_FIELDS[name], limits?.[name] ?? null]));
}

function describeDeployment({ row }: DecidedDeployment, changes: DeploymentChanges): object {
  return {
    ...(changes.enabled !== undefined && { enabled: row.enabled }),
    ...(changes.priority !== undefined && { priority: row.priority }),
    ...(changes.weight !== undefined && { weight: row.weight }),
  };
}
