/**
 * Once per run that has tests with services: PostgreSQL and Redis, and in PostgreSQL a migrated template database.
 * `TEST_DATABASE_URL` and `TEST_REDIS_URL` (both) name real servers; without them embedded ones are started.
 */
import { randomBytes } from 'node:crypto';
import { runMigrations } from '../../src/core/database/run-migrations';
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
  }
  await startRealServers(process.env.TEST_DATABASE_URL);
  const prefix = `test_${randomBytes(4).toString('hex')}_`;
  const template = `${prefix}template`;
  process.env.TEST_DATABASE_PREFIX = prefix;
  process.env.TEST_TEMPLATE_DATABASE = template;
  await queryServer(`CREATE DATABASE ${template} TEMPLATE template1`);
  await runMigrations(databaseUrl(template));
}
