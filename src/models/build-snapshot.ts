import type { CatalogModel, Deployment } from './catalog-model';
import type { DeploymentRow, StoredCatalog } from './catalog-rows';
import { type DeploymentServing, reviewServing } from './serving';

/** The models that can be called at `nowMs`, by id and by alias. */
export interface CatalogSnapshot {
  /** Sorted by id. */
  readonly models: readonly CatalogModel[];
  readonly byName: ReadonlyMap<string, CatalogModel>;
}

/**
 * Keeps what can be called: enabled, not retired, with a price in force, and a deployment whose provider is configured
 * (decision *unpriced*). What is left out does not exist for clients.
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
  const { id, provider, upstreamModel, priority, weight, quirks } = row;
  return { id, provider, upstreamModel, priority, weight, quirks, prices };
}
