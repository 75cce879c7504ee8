import type { CatalogModel, Deployment, PriceVersion } from './catalog-model';
import type { DeploymentRow, PriceVersionRow, StoredCatalog } from './catalog-rows';
import { findActivePrice } from './price-history';
import { isPriced } from './review-catalog';

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
  const prices = groupBy(stored.prices, ({ modelId, deploymentId }) => deploymentId ?? modelId);
  const deployments = groupBy(stored.deployments, ({ modelId }) => modelId);
  const models: CatalogModel[] = [];
  const byName = new Map<string, CatalogModel>();
  for (const row of stored.models) {
    if (!row.enabled || (row.retiresOn !== null && Date.parse(row.retiresOn) <= nowMs)) continue;
    const modelPrices = toHistory(prices.get(row.id));
    const usable = (deployments.get(row.id) ?? [])
      .filter(({ enabled, provider }) => enabled && configuredProviders.has(provider))
      .map((deployment) => toDeployment(deployment, toHistory(prices.get(deployment.id))))
      .filter((deployment) => {
        const active = findActivePrice(deployment.prices, nowMs).version ?? findActivePrice(modelPrices, nowMs).version;
        return active !== null && isPriced(row.modality, active.price);
      });
    if (usable.length === 0) continue;
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
      deployments: usable,
      prices: modelPrices,
    };
    models.push(model);
    for (const name of [row.id, ...row.aliases]) byName.set(name, model);
  }
  return { models, byName };
}

function toDeployment(row: DeploymentRow, prices: readonly PriceVersion[]): Deployment {
  const { id, provider, upstreamModel, priority, weight, quirks } = row;
  return { id, provider, upstreamModel, priority, weight, quirks, prices };
}

function toHistory(rows: readonly PriceVersionRow[] = []): PriceVersion[] {
  return rows.flatMap(({ id, effectiveFrom, effectiveTo, content }) =>
    content === null
      ? []
      : [
          {
            id,
            effectiveFromMs: effectiveFrom.getTime(),
            effectiveToMs: effectiveTo?.getTime() ?? null,
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
