import { createDataSource } from '../../../src/core/database/data-source';
import { MIGRATIONS } from '../../../src/core/database/migrations';
import { hasPendingMigrations, revertMigrations, runMigrations } from '../../../src/core/database/run-migrations';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database';

const ALL = MIGRATIONS.map((migration) => migration.name);

describe('migrations', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createEmptyTestDatabase();
  });

  afterEach(() => database.drop());

  it('make exactly the schema that the entities describe', async () => {
    await runMigrations(database.url);
    expect(await findSchemaDrift(database.url)).toEqual([]);
  });

  it('can all be undone, leaving nothing, and done again', async () => {
    expect(await runMigrations(database.url)).toEqual(ALL);
    await revertMigrations(database.url, ALL.length);
    expect(await listObjects(database.url)).toEqual([]);
    expect(await runMigrations(database.url)).toEqual(ALL);
  });

  it('run once when several replicas start together', async () => {
    const replicas = await Promise.all([1, 2, 3].map(() => runMigrations(database.url)));
    expect(replicas.flat().toSorted()).toEqual(ALL.toSorted());
  });

  it('are reported as pending until they have run', async () => {
    const dataSource = await createDataSource({ url: database.url, poolSize: 1 }).initialize();
    try {
      expect(await hasPendingMigrations(dataSource)).toBe(true);
      await runMigrations(database.url);
      expect(await hasPendingMigrations(dataSource)).toBe(false);
    } finally {
      await dataSource.destroy();
    }
  });
});

/** Every table, view, sequence, function and type of the schema, but for what TypeORM keeps for itself. */
async function listObjects(url: string): Promise<string[]> {
  const dataSource = await createDataSource({ url, poolSize: 1 }).initialize();
  try {
    const rows: { name: string }[] = await dataSource.query(`
      SELECT relname AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%' AND relname NOT LIKE 'PK_%'
      UNION ALL
      SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%migrations'`);
    return rows.map(({ name }) => name);
  } finally {
    await dataSource.destroy();
  }
}

/** What TypeORM would have to change for the database to match the entities; names of constraints and indexes count. */
async function findSchemaDrift(url: string): Promise<string[]> {
  const dataSource = await createDataSource({ url, poolSize: 1 }).initialize();
  try {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  } finally {
    await dataSource.destroy();
  }
}
