import { randomUUID } from 'node:crypto';
import type { DataSource, QueryRunner } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import type { Migration } from '../../../src/core/database/migration-files';
import { MIGRATIONS } from '../../../src/core/database/migrations';
import { hasPendingMigrations, listPendingMigrations, runMigrations } from '../../../src/core/database/run-migrations';
import { allowedMs, until } from '../../faults/figures';
import { createEmptyTestDatabase, queryServer, type TestDatabase } from '../../harness/database';
import { createBaselineTables } from './baseline-tables';

const NEWEST_REPLACED = 'TaskLeases1797510000000';
const ALL = MIGRATIONS.map((migration) => migration.name);

describe('migrations', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeEach(async () => {
    database = await createEmptyTestDatabase();
    dataSource = await createDataSource({ url: database.url, poolSize: 3, statementTimeoutMs: 0 }).initialize();
  });

  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('create exactly the tables that the entities describe', async () => {
    await runMigrations(database.url);
    expect(await findSchemaDrift(dataSource)).toEqual([]);
  });

  it('need no privilege beyond the ownership of the database', async () => {
    const role = `owner_${randomUUID().replaceAll('-', '')}`;
    const url = new URL(database.url);
    await queryServer(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`);
    try {
      await queryServer(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`);
      url.username = role;
      url.password = role;
      expect(await runMigrations(url.href)).toEqual(ALL);
    } finally {
      await dataSource.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER`);
      await queryServer(`DROP ROLE ${role}`);
    }
  });

  it('leave the database as it was when one of them fails, and can then run', async () => {
    // The last of the views cannot be created: all tables and functions before it are rolled back.
    await dataSource.query('CREATE TABLE record_violations ()');
    await expect(runMigrations(database.url)).rejects.toThrow('record_violations');
    expect(await listObjects(dataSource)).toEqual(['record_violations']);
    await dataSource.query('DROP TABLE record_violations');
    expect(await runMigrations(database.url)).toEqual(ALL);
  });

  it('leave the tables of a database that has the migrations which the baseline replaces', async () => {
    await createBaselineTables(dataSource, NEWEST_REPLACED);
    await dataSource.query(`INSERT INTO organization (name) VALUES ('kept')`);
    expect(await runMigrations(database.url)).toEqual(ALL);
    expect(await dataSource.query('SELECT name FROM organization')).toEqual([{ name: 'kept' }]);
  });

  it('refuse a database that lacks some of the migrations which the baseline replaces', async () => {
    await createBaselineTables(dataSource, 'LedgerArchive1797400000000');
    await expect(runMigrations(database.url)).rejects.toThrow(`The database lacks ${NEWEST_REPLACED}`);
    await expect(listPendingMigrations(database.url)).rejects.toThrow(`The database lacks ${NEWEST_REPLACED}`);
  });

  it('replace functions, triggers and views that differ from their files whenever a migration runs', async () => {
    await runMigrations(database.url);
    const before = await readDefinitions(dataSource);
    await dataSource.query(`
      CREATE OR REPLACE FUNCTION money_post(p_organization uuid, p_kind text, p_delta bigint, p_reference text)
      RETURNS text LANGUAGE sql AS $$ SELECT 'changed' $$;
      DROP TRIGGER ledger_posting_is_append_only ON ledger_posting;
      DROP VIEW money_violations`);
    expect(await readDefinitions(dataSource)).not.toEqual(before);
    await runMigrations(database.url, [...MIGRATIONS, ChangeFunction1999000000000]);
    expect(await readDefinitions(dataSource)).toEqual(before);
  });

  it('give way to the statements behind them after 3 s, while another transaction holds a table that they change', async () => {
    await runMigrations(database.url);
    const holder = dataSource.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT FROM purchase');
    const migrating = runMigrations(database.url, [...MIGRATIONS, ChangePurchase1999000000001]);
    await until('the migration that waits', 60_000, async () => {
      const waiting = await dataSource.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = 'purchase'::regclass`,
      );
      return waiting.length > 0;
    });
    const startedAtMs = performance.now();
    await dataSource.query('SELECT FROM purchase');
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(3_000));
    await holder.commitTransaction();
    await holder.release();
    expect(await migrating).toEqual(['ChangePurchase1999000000001']);
  });

  it('run once when several replicas start together', async () => {
    const replicas = await Promise.all([1, 2, 3].map(() => runMigrations(database.url)));
    expect(replicas.flat().toSorted()).toEqual(ALL.toSorted());
  });

  it('are reported as pending until they have run', async () => {
    expect(await hasPendingMigrations(dataSource)).toBe(true);
    await runMigrations(database.url);
    expect(await hasPendingMigrations(dataSource)).toBe(false);
  });
});

/** Changes nothing itself, as a migration for a changed function. */
class ChangeFunction1999000000000 implements Migration {
  readonly name = 'ChangeFunction1999000000000';
  readonly routines = '';

  async up(): Promise<void> {}

  async down(): Promise<void> {}
}

class ChangePurchase1999000000001 implements Migration {
  readonly name = 'ChangePurchase1999000000001';
  readonly routines = '';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE purchase ADD COLUMN note text');
  }

  async down(): Promise<void> {}
}

/** Every table, view, sequence and function of the schema, except for TypeORM's own. */
async function listObjects(dataSource: DataSource): Promise<string[]> {
  const rows: { name: string }[] = await dataSource.query(`
    SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%' AND relname NOT LIKE 'PK_%'
    UNION ALL
    SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`);
  return rows.map(({ name }) => name);
}

/** The definitions of functions, triggers and views. */
async function readDefinitions(dataSource: DataSource): Promise<string[]> {
  const rows: { definition: string }[] = await dataSource.query(`
    SELECT pg_get_functiondef(oid) AS definition FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL
    SELECT pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace
    ORDER BY 1`);
  return rows.map(({ definition }) => definition);
}

/** What TypeORM would have to change for the database to match the entities; names of constraints and indexes count. */
async function findSchemaDrift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}
