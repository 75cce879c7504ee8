import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { isPepperOfKeys, PepperCheck } from '../../../src/auth/api-keys/pepper-check';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createCli } from '../cli/run-cli';

const FIRST = 'first-pepper-0123456789-0123456789';
const OTHER = 'other-pepper-0123456789-0123456789';

describe('the pepper of API keys', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 3);
  });
  beforeEach(() => dataSource.query('UPDATE deployment_identity SET pepper_fingerprint = NULL'));
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const start = (pepper: string): Promise<void> => new PepperCheck(dataSource, pepper).onApplicationBootstrap();

  it('is that of the first gateway, also when two start at once', async () => {
    expect(await isPepperOfKeys(dataSource, OTHER)).toBe(true);
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    await Promise.all([start(FIRST), start(OTHER)]);
    expect(error).toHaveBeenCalledTimes(1);
    const accepted = await Promise.all([FIRST, OTHER].map((pepper) => isPepperOfKeys(dataSource, pepper)));
    expect(accepted.filter(Boolean)).toHaveLength(1);
    error.mockRestore();
  });

  it('is logged at each start when it has changed, until it is restored or accepted', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const linesOfStart = async (pepper: string): Promise<unknown[]> => {
      error.mockClear();
      await start(pepper);
      return error.mock.calls.flat();
    };
    const changed = [expect.objectContaining({ event: 'api_key_pepper_changed' })];
    expect(await linesOfStart(FIRST)).toEqual([]);
    expect(await linesOfStart(OTHER)).toEqual(changed);
    expect(await linesOfStart(OTHER)).toEqual(changed);
    expect(await linesOfStart(FIRST)).toEqual([]);
    const cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: OTHER });
    await cli.json('deployment', 'accept-pepper');
    cli.close();
    expect(await linesOfStart(OTHER)).toEqual([]);
    expect(await linesOfStart(FIRST)).toEqual(changed);
    error.mockRestore();
  });

  it('is required by the command line for new keys, which gateways would refuse', async () => {
    await start(FIRST);
    const cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: OTHER });
    const { id } = await cli.json<{ id: string }>('org', 'create', '--name', 'Example');
    const commands = [
      ['create', '--org', id],
      ['rotate', '--key', id],
    ];
    for (const command of commands) {
      const { exitCode, stderr } = await cli.run('key', ...command);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('API_KEY_PEPPER')]);
    }
    cli.close();
  });
});
