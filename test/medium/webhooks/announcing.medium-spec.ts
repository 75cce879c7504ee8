import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { systemClock } from '../../../src/core/time/clock';
import { uuidV7 } from '../../../src/core/types/ids';
import { loadConfig } from '../../../src/core/config/load-config';
import { GuardedClient } from '../../../src/core/outbound/guarded-client';
import { createRedis } from '../../../src/core/redis/redis.module';
import { DueDeliveryListener, publishDueDelivery } from '../../../src/webhooks/due-delivery.listener';
import { WebhookDeliveryService } from '../../../src/webhooks/webhook-delivery.service';
import { WebhookLogRepository } from '../../../src/webhooks/webhook-log.repository';
import { WebhookLogService } from '../../../src/webhooks/webhook-log.service';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { PublicHost } from '../../harness/public-host';
import { createTestRedis } from '../../harness/redis';
import { createOrganization, SECRETS_KEY, startWebhookEngine, type WebhookEngine } from './webhook-engine';
import { WorkerModule } from './worker-module';

Logger.overrideLogger(false);

describe('a requested delivery', () => {
  let database: TestDatabase;
  let host: PublicHost;
  let redis: Redis;
  let engine: WebhookEngine;
  let organizationId: string;
  beforeAll(async () => {
    [database, host] = await Promise.all([createTestDatabase(), PublicHost.start()]);
    redis = createRedis(createTestRedis().url);
    engine = await startWebhookEngine(database.url);
    organizationId = await createOrganization(engine);
  });
  afterAll(async () => {
    redis.disconnect();
    await engine.close();
    await host.stop();
    await database.drop();
  });
  const closings: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closings.splice(0)) await close();
  });
  beforeEach(() => {
    host.answer = (response) => response.writeHead(204).end();
  });

  const rules = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
  const createLog = (announce: () => Promise<void>): WebhookLogService =>
    new WebhookLogService(new WebhookLogRepository(engine.dataSource), new GuardedClient(rules), announce);
  const sendTest = (log: WebhookLogService) =>
    log.sendTest(organizationId, host.url('/'), uuidV7(systemClock.now()), COMMAND_LINE);

  it('is due when it is announced, for a test and for a redelivery', async () => {
    const taken: number[] = [];
    const log = createLog(async () => void taken.push(await engine.service.deliverDue()));
    const { id } = await sendTest(log);
    expect(await log.get(organizationId, id)).toMatchObject({ state: 'delivered', attempts: 1 });
    await log.redeliver(organizationId, id, COMMAND_LINE);
    expect(await log.get(organizationId, id)).toMatchObject({ state: 'delivered', attempts: 2 });
    expect(taken).toEqual([1, 1]);
  });

  it('is committed even if the announcement fails', async () => {
    const away = { publish: () => Promise.reject(new Error('Redis is away')) };
    const { id } = await sendTest(createLog(() => publishDueDelivery(away)));
    expect(await engine.service.deliverDue()).toBe(1);
    expect(await createLog(() => Promise.resolve()).get(organizationId, id)).toMatchObject({ state: 'delivered' });
  });

  it('wakes every delivering process', async () => {
    let woken = Promise.withResolvers<void>();
    const listener = new DueDeliveryListener(redis, { wake: () => woken.resolve() } as WebhookDeliveryService);
    closings.push(() => listener.onModuleDestroy());
    listener.onModuleInit();
    // Subscribing also wakes the process, for deliveries requested before.
    await woken.promise;
    woken = Promise.withResolvers();

    const servers = { DATABASE_URL: database.url, REDIS_URL: createTestRedis().url };
    const config = loadConfig({ ...servers, SECRETS_KEY, OUTBOUND_ALLOW_CIDRS: '127.0.0.1' });
    const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(config), { logger: false });
    closings.push(() => app.close());
    const service = app.get(WebhookDeliveryService, { strict: false });
    // From then on only messages and a new subscription wake it.
    await service.stop();
    const isWoken = new Promise<void>((resolve) => jest.spyOn(service, 'wake').mockImplementation(resolve));

    await sendTest(app.get(WebhookLogService, { strict: false }));
    await woken.promise;
    await isWoken;
  });
});
