import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadConfig } from '../../../src/core/config/load-config';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createOrganization, SECRETS_KEY, startWebhookEngine, type WebhookEngine } from './webhook-engine';
import { WorkerModule } from './worker-module';

const OTHER_KEY = '6f'.repeat(32);

describe('the key of the webhook secrets', () => {
  let database: TestDatabase;
  let engine: WebhookEngine;
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startWebhookEngine(database.url);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** Starts a process and returns what it logs as errors. */
  const start = async (key: string): Promise<unknown[]> => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    error.mockClear();
    const config = loadConfig({ ...serverSettings(database.url), SECRETS_KEY: key });
    const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(config), {
      logger: false,
      abortOnError: false,
    });
    await app.close();
    return error.mock.calls.flat();
  };

  it('is logged at each start when it has changed, until the earlier one is restored', async () => {
    expect(await start(OTHER_KEY)).toEqual([]);
    await engine.secrets.require(await createOrganization(engine));
    const changed = [expect.objectContaining({ event: 'secrets_key_changed' })];
    expect(await start(OTHER_KEY)).toEqual(changed);
    expect(await start(OTHER_KEY)).toEqual(changed);
    expect(await start(`${OTHER_KEY},${SECRETS_KEY}`)).toEqual([]);
    expect(await start(SECRETS_KEY)).toEqual([]);
  });
});
