import { isDeepStrictEqual } from 'node:util';
import {
  type CatalogRows,
  type DeploymentRow,
  type ModelRow,
  type PriceRow,
  type PriceVersionRow,
  type StoredCatalog,
  toCatalogRows,
} from './catalog-rows';
import type { LoadedModel } from './load-catalog';
import type { CatalogRepository } from './catalog.repository';

/**
 * Compares the files with the database and decides what the import writes. Pure, so that its rules can be tested
 * without a database: nothing is deleted, rows of `admin` stay unchanged, prices are only added.
 */

/** A price version to append; its id is assigned when it is written. */
export type NewPriceVersion = Omit<PriceVersionRow, 'id'>;

export interface ImportPlan {
  /** Rows to insert or to overwrite completely. */
  readonly models: readonly ModelRow[];
  readonly deployments: readonly DeploymentRow[];
  readonly prices: readonly NewPriceVersion[];
  readonly summary: CatalogImportSummary;
}

/** The result of an import. All empty and zero: the database already matched the files. */
export interface CatalogImportSummary {
  /** Ids of models. */
  readonly added: readonly string[];
  /** Ids of models that differ themselves or in a deployment. */
  readonly changed: readonly string[];
  /** Ids of models that are no longer offered. */
  readonly disabled: readonly string[];
  /** Price versions appended. */
  readonly prices: number;
}

/** The changes that make `stored` match the files (`desired`). */
export function planImport(stored: StoredCatalog, desired: CatalogRows): ImportPlan {
  const storedModels = byId(stored.models);
  const managed = new Set(stored.models.filter(({ source }) => source === 'admin').map(({ id }) => id));
  const desiredModels = desired.models.filter(({ id }) => !managed.has(id));
  const desiredDeployments = desired.deployments.filter(({ modelId }) => !managed.has(modelId));

  const models = changedRows(stored.models.map(withoutCreation), desiredModels);
  const deployments = changedRows(
    stored.deployments.filter(({ modelId }) => !managed.has(modelId)),
    desiredDeployments,
  );
  const touched = new Set([...models.map(({ id }) => id), ...deployments.map(({ modelId }) => modelId)]);
  const disabled = models.filter(({ id, enabled }) => !enabled && storedModels.get(id)?.enabled === true);
  const gone = new Set(disabled.map(({ id }) => id));
  const prices = newPriceVersions(stored, desired, new Set(desiredModels.map(({ id }) => id)));
  return {
    models,
    deployments,
    prices,
    summary: {
      added: [...touched].filter((id) => !storedModels.has(id)),
      changed: [...touched].filter((id) => storedModels.has(id) && !gone.has(id)),
      disabled: [...gone],
      prices: prices.length,
    },
  };
}

/** Desired rows that are new or differ, and stored rows that the files no longer mention, disabled. */
function changedRows<Row extends ModelRow | DeploymentRow>(stored: readonly Row[], desired: readonly Row[]): Row[] {
  const storedById = byId(stored);
  const desiredIds = new Set(desired.map(({ id }) => id));
  const different = desired.filter((row) => {
    const before = storedById.get(row.id);
    return before === undefined || (before.source !== 'admin' && !isDeepStrictEqual(before, row));
  });
  const gone = stored.filter(({ id, source, enabled }) => enabled && source !== 'admin' && !desiredIds.has(id));
  return [...different, ...gone.map((row) => ({ ...row, enabled: false }))];
}

function newPriceVersions(
  stored: StoredCatalog,
  desired: CatalogRows,
  modelIds: ReadonlySet<string>,
): NewPriceVersion[] {
  const newest = new Map(stored.prices.map((price) => [placeOf(price), price]));
  const wanted = desired.prices.filter(({ modelId }) => modelIds.has(modelId));
  const wantedPlaces = new Set(wanted.map(placeOf));
  const appended = wanted.flatMap((price): NewPriceVersion[] => {
    const before = newest.get(placeOf(price));
    if (before === undefined) return [{ ...price, revision: 1 }];
    // A price withdrawn by an operator does not count as an override.
    const isDecided = before.source === 'admin' && before.content !== null;
    const keep = isDecided || isSamePrice(before, price);
    return keep ? [] : [{ ...price, revision: before.revision + 1 }];
  });
  // Otherwise a price removed from the files would stay in force, for example below an older price of an operator.
  const withdrawn = stored.prices.filter(
    (price) =>
      price.content !== null &&
      price.source !== 'admin' &&
      modelIds.has(price.modelId) &&
      !wantedPlaces.has(placeOf(price)),
  );
  return [
    ...appended,
    ...withdrawn.map(({ id: _id, ...price }) => ({ ...price, content: null, revision: price.revision + 1 })),
  ];
}

function isSamePrice(a: PriceRow, b: PriceRow): boolean {
  return a.effectiveTo?.getTime() === b.effectiveTo?.getTime() && isDeepStrictEqual(a.content, b.content);
}

function placeOf({ modelId, deploymentId, effectiveFrom }: PriceRow): string {
  return `${modelId} ${deploymentId} ${effectiveFrom.getTime()}`;
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function withoutCreation({ createdAt: _createdAt, ...row }: StoredCatalog['models'][number]): ModelRow {
  return row;
}

/**
 * Updates the database from the catalogue files. Idempotent. Models removed from the files are disabled, not deleted;
 * models, deployments and prices written by an administrator stay unchanged.
 */
export async function importCatalog(
  repository: CatalogRepository,
  models: readonly LoadedModel[],
  nowMs: number,
): Promise<CatalogImportSummary> {
  const desired = toCatalogRows(models);
  const { summary } = await repository.change((stored) => planImport(stored, desired), nowMs);
  return summary;
}
