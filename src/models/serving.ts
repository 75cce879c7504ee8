/** Decides which models can be called, and why others cannot, for requests and operators alike. Pure. */
import { findActivePrice, type PriceVersion } from './catalog-model';
import type { DeploymentRow, PriceVersionRow, StoredCatalog } from './catalog-rows';
import { isPriced } from './review-catalog';

export const DEPLOYMENT_OBSTACLES = ['disabled', 'provider_not_configured', 'unpriced'] as const;
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
  /** Empty: it can be called. */
  readonly obstacles: readonly DeploymentObstacle[];
}

export interface ModelServing<Catalog extends StoredCatalog> {
  readonly row: Catalog['models'][number];
  readonly prices: readonly PriceVersion[];
  readonly deployments: readonly DeploymentServing<Catalog['deployments'][number]>[];
  /** Empty: it can be called. */
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
      if (!configuredProviders.has(deployment.provider)) obstacles.push('provider_not_configured');
      if (active === null || !isPriced(row.modality, active.price)) obstacles.push('unpriced');
      return { row: deployment, prices: own, obstacles };
    });
    const obstacles: ModelObstacle[] = [];
    if (!row.enabled) obstacles.push('disabled');
    if (row.retiresOn !== null && Date.parse(row.retiresOn) <= nowMs) obstacles.push('retired');
    obstacles.push(...obstaclesOfAll(deployments));
    return { row, prices: ofModel, deployments, obstacles };
  });
}

/** Empty if at least one deployment can be called; otherwise the obstacles of all deployments. */
function obstaclesOfAll(deployments: readonly DeploymentServing<DeploymentRow>[]): ModelObstacle[] {
  if (deployments.some(({ obstacles }) => obstacles.length === 0)) return [];
  const found = new Set<DeploymentObstacle>(deployments.flatMap(({ obstacles }) => obstacles));
  const named: ModelObstacle[] = [];
  if (found.has('unpriced')) named.push('unpriced');
  if (found.has('provider_not_configured')) named.push('provider_not_configured');
  if (found.has('disabled') || deployments.length === 0) named.push('deployments_disabled');
  return named;
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
