import type { LoadedModel } from './load-catalog';
import type { CatalogRepository } from './catalog.repository';
import { toCatalogRows } from './catalog-rows';
import { type CatalogImportSummary, planImport } from './plan-import';

/**
 * Updates the database from the catalogue files. Idempotent. Models removed from the files are disabled, not deleted; models,
 * deployments and prices written by an administrator stay unchanged.
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
