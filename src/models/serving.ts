/** Decides which models can be called, and why others cannot, for requests and operators alike. Pure. */
import {
  type CatalogModel,
  type Deployment,
  type DeploymentTimeouts,
  findActivePrice,
  type PriceVersion,
} from './catalog-model';
import type { DeploymentRow, DeploymentSettings, PriceVersionRow, StoredCatalog } from './catalog-rows';
import { startMs } from './catalog.schema';
import { isPriced } from './review-catalog';

export const DEPLOYMENT_OBSTACLES = ['disabled', 'retired', 'provider_not_configured', 'unpriced'] as const;
export type DeploymentObstacle = (typeof DEPLOYMENT_OBSTACLES)[number];

export const MODEL_OBSTACLES = [
  'disabled',
  'retired',
  'unpriced',
  'provider_not_configured',
  'deployments_disabled',
] as const;
export type ModelObstacle = (typeof MODEL_OBSTACLES)[number];

export interface DeploymentServing<Row extends DeploymentRow> {
  readonly row: Row;
  /** The deployment's prices; empty: those of the model apply. */
  readonly prices: readonly PriceVersion[];
  /** Empty: the deployment can be called. */
  readonly obstacles: readonly DeploymentObstacle[];
}

export interface ModelServing<Catalog extends StoredCatalog> {
  readonly row: Catalog['models'][number];
  readonly prices: readonly PriceVersion[];
  readonly deployments: readonly DeploymentServing<Catalog['deployments'][number]>[];
  /** Empty: the model can be called. */
  readonly obstacles: readonly ModelObstacle[];
}

/** Evaluates every model at `nowMs`, in the order of the rows. */
export function reviewServing<Catalog extends StoredCatalog>(
  stored: Catalog,
  configuredProviders: ReadonlySet<string>,
  nowMs: number,
): ModelServing<Catalog>[] {
  const prices = groupBy(stored.prices, ({ modelId, deploymentId }) => deploymentId ?? modelId);
  const deploymentsOf = groupBy(stored.deployments as Catalog['deployments'][number][], ({ modelId }) => modelId);
  return stored.models.map((row: Catalog['models'][number]) => {
    const ofModel = toHistory(prices.get(row.id));
    const deployments = (deploymentsOf.get(row.id) ?? []).map((deployment) => {
      const own = toHistory(prices.get(deployment.id));
      const active = findActivePrice(own, nowMs).version ?? findActivePrice(ofModel, nowMs).version;
      const obstacles: DeploymentObstacle[] = [];
      if (!deployment.enabled) obstacles.push('disabled');
      if (isRetired(deployment.settings.retires ?? null, nowMs)) obstacles.push('retired');
      if (!configuredProviders.has(deployment.provider)) obstacles.push('provider_not_configured');
      if (active === null || !isPriced(row.modality, active.price)) obstacles.push('unpriced');
      return { row: deployment, prices: own, obstacles };
    });
    const obstacles: ModelObstacle[] = [];
    if (!row.enabled) obstacles.push('disabled');
    if (isRetired(row.retiresOn, nowMs)) obstacles.push('retired');
    obstacles.push(...obstaclesOfAll(deployments));
    return { row, prices: ofModel, deployments, obstacles: [...new Set(obstacles)] };
  });
}

/** Empty if at least one deployment can be called; otherwise the obstacles of all deployments. */
function obstaclesOfAll(deployments: readonly DeploymentServing<DeploymentRow>[]): ModelObstacle[] {
  if (deployments.some(({ obstacles }) => obstacles.length === 0)) return [];
  const found = new Set<DeploymentObstacle>(deployments.flatMap(({ obstacles }) => obstacles));
  const named: ModelObstacle[] = [];
  if (found.has('retired')) named.push('retired');
  if (found.has('unpriced')) named.push('unpriced');
  if (found.has('provider_not_configured')) named.push('provider_not_configured');
  if (found.has('disabled') || deployments.length === 0) named.push('deployments_disabled');
  return named;
}

/** `day`: the first one without service, from 00:00 UTC on. */
function isRetired(day: string | null, nowMs: number): boolean {
  return day !== null && startMs(day) <= nowMs;
}

function toHistory(rows: readonly PriceVersionRow[] = []): PriceVersion[] {
  return rows.flatMap(({ id, effectiveFrom, effectiveTo, content, source }) =>
    content === null
      ? []
      : [
          {
            id,
            effectiveFromMs: effectiveFrom.getTime(),
            effectiveToMs: effectiveTo?.getTime() ?? null,
            byOperator: source === 'admin',
            price: content,
          },
        ],
  );
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

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
  const { when, map, fixed, output, api_version: apiVersion } = settings;
  return {
    id,
    provider,
    upstreamModel,
    dialect,
    when,
    priority,
    weight,
    mapping: map === undefined ? undefined : { map, fixed, output: output ?? {} },
    quirks: typeof apiVersion === 'string' ? { ...quirks, apiVersion } : quirks,
    timeouts: toTimeouts(settings),
    prices,
  };
}

function toTimeouts({ timeouts }: DeploymentSettings): DeploymentTimeouts | undefined {
  return timeouts && { firstTokenMs: timeouts.first_token_ms, idleMs: timeouts.idle_ms };
}
