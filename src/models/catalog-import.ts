import type { LoadedModel } from './load-catalog';
import type { CatalogRepository } from './catalog.repository';
import { toCatalogRows } from './catalog-rows';
import { type CatalogImportSummary, planImport } from './plan-import';

/**
 * Brings the database to what the catalogue files say. Idempotent: run again, it changes nothing. Models gone from
 * the files are disabled, not deleted; models, deployments and prices written by an administrator stay as they are.
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
