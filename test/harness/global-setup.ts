/**
 * Once per run that has tests with services: PostgreSQL and Redis, and in PostgreSQL a template database with the
 * schema and the built-in models.
 * `TEST_DATABASE_URL` and `TEST_REDIS_URL` (both) name real servers; without them embedded ones are started.
 */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { createDataSource } from '../../src/core/database/data-source';
import { runMigrations } from '../../src/core/database/run-migrations';
import { importCatalog } from '../../src/models/catalog-import';
import { CatalogRepository } from '../../src/models/catalog.repository';
import { loadCatalog } from '../../src/models/load-catalog';
import { databaseUrl, queryServer } from './database';
import { startRealServers } from './servers';
import { startTestServices } from './test-services';

export default async function globalSetup(): Promise<void> {
  // `web-setup.ts` calls it too.
  if (process.env.TEST_DATABASE_PREFIX !== undefined) return;
  if (process.env.TEST_DATABASE_URL === undefined || process.env.TEST_REDIS_URL === undefined) {
    const services = await startTestServices();
    process.env.TEST_DATABASE_URL = services.databaseUrl;
    process.env.TEST_REDIS_URL = services.redisUrl;
    process.env.TEST_KEPT_PAGES = tmpdir();
    process.env.TMPDIR = services.folder;
  }
  await startRealServers(process.env.TEST_DATABASE_URL);
  const prefix = `test_${randomBytes(4).toString('hex')}_`;
  const template = `${prefix}template`;
  process.env.TEST_DATABASE_PREFIX = prefix;
  process.env.TEST_TEMPLATE_DATABASE = template;
  await queryServer(`CREATE DATABASE ${template} TEMPLATE template1`);
  await runMigrations(databaseUrl(template));
  await importModels(databaseUrl(template));
}

/** Each gateway would import them when it starts: 9 % of the CPU time of the e2e tests. */
async function importModels(url: string): Promise<void> {
  const dataSource = await createDataSource({ url, poolSize: 1 }).initialize();
  await importCatalog(new CatalogRepository(dataSource), await loadCatalog(null), Date.now());
  await dataSource.destroy();
}
