import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createBaselineTables } from '../database/baseline-tables';
import { type Cli, createBuiltCli } from './run-cli';

describe('migrate --json, when it fails, writes only to standard error', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let cli: Cli;

  beforeEach(async () => {
    database = await createEmptyTestDatabase();
    dataSource = await createDataSource({ url: database.url, poolSize: 1 }).initialize();
    cli = createBuiltCli({ ...serverSettings(database.url) });
  });
  afterEach(async () => {
    cli.close();
    await dataSource.destroy();
    await database.drop();
  });

  it('the name of the migration and the error', async () => {
    await dataSource.query('CREATE TABLE organization ()');
    await expect(cli.run('migrate', '--json')).resolves.toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/Baseline1797700000000.*\nerror: .*relation "organization" already exists\n$/),
    });
  });

  it.each([['migrate'], ['migrate', '--plan']])(
    'what to do with a database of an old version: %s %s',
    async (...command) => {
      await createBaselineTables(dataSource, 'LedgerArchive1797400000000');
      await expect(cli.run(...command, '--json')).resolves.toEqual({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(/^error: The database lacks TaskLeases1797510000000,.*\n$/),
      });
    },
  );
});
