import type { CatalogModel, Deployment, DeploymentTimeouts } from './catalog-model';
import type { DeploymentRow, DeploymentSettings, StoredCatalog } from './catalog-rows';
import { type DeploymentServing, reviewServing } from './serving';

/** The models that can be called at `nowMs`, by id and by alias. */
export interface CatalogSnapshot {
  /** Sorted by id. */
  readonly models: readonly CatalogModel[];
  readonly byName: ReadonlyMap<string, CatalogModel>;
}

/**
 * Selects the models that can be called: enabled, not retired, with a price in force, and a deployment whose provider
 * is configured. Other models do not exist for clients.
 */
export function buildSnapshot(
  stored: StoredCatalog,
  configuredProviders: ReadonlySet<string>,
  nowMs: number,
): CatalogSnapshot {
  const models: CatalogModel[] = [];
  const byName = new Map<string, CatalogModel>();
  for (const { row, prices, deployments, obstacles } of reviewServing(stored, configuredProviders, nowMs)) {
    if (obstacles.length > 0) continue;
    const model: CatalogModel = {
      id: row.id,
      displayName: row.displayName,
      modality: row.modality,
      inputModalities: row.inputModalities,
      outputModalities: row.outputModalities,
      createdAt: Math.floor((row.releasedOn === null ? row.createdAt.getTime() : Date.parse(row.releasedOn)) / 1000),
      contextLength: row.contextLength,
      maxOutputTokens: row.maxOutputTokens,
      features: row.features,
      tokensPerByte: row.tokensPerByte,
      media: row.media,
      limits: row.limits,
      deployments: deployments.filter((each) => each.obstacles.length === 0).map(toDeployment),
      prices,
    };
    models.push(model);
    for (const name of [row.id, ...row.aliases]) byName.set(name, model);
  }
  return { models, byName };
}

function toDeployment({ row, prices }: DeploymentServing<DeploymentRow>): Deployment {
  const { id, provider, upstreamModel, dialect, priority, weight, quirks, settings } = row;
  const { when } = settings;
  return {
    id,
    provider,
    upstreamModel,
    dialect,
    when,
    priority,
    weight,
    quirks,
    timeouts: toTimeouts(settings),
    prices,
  };
}

function toTimeouts({ timeouts }: DeploymentSettings): DeploymentTimeouts | undefined {
  return timeouts && { firstTokenMs: timeouts.first_token_ms, idleMs: timeouts.idle_ms };
}
