import { setImmediate } from 'node:timers/promises';
import { getQueueToken } from '@nestjs/bullmq';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { systemClock } from '../../../src/core/time/clock';
import { uuidV7 } from '../../../src/core/types/ids';
import { loadConfig } from '../../../src/core/config/load-config';
import { GuardedClient } from '../../../src/core/outbound/guarded-client';
import { WebhookDeliveryService } from '../../../src/webhooks/webhook-delivery.service';
import { WebhookLogRepository } from '../../../src/webhooks/webhook-log.repository';
import { WebhookLogService } from '../../../src/webhooks/webhook-log.service';
import type { WebhookWakeUps } from '../../../src/webhooks/webhook-wake-ups';
import { WEBHOOK_QUEUE } from '../../../src/webhooks/webhook-wake-ups';
import { allowedMs, until } from '../../faults/figures';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { PublicHost } from '../../harness/public-host';
import { serverSettings } from '../../harness/servers';
import {
  createOrganization,
  deliveryOf,
  endJobs,
  SECRETS_KEY,
  startWebhookEngine,
  type WebhookEngine,
} from './webhook-engine';
import { WorkerModule } from './worker-module';

Logger.overrideLogger(false);

describe('a requested delivery', () => {
  let database: TestDatabase;
  let host: PublicHost;
  let engine: WebhookEngine;
  let organizationId: string;
  beforeAll(async () => {
    [database, host] = await Promise.all([createTestDatabase(), PublicHost.start()]);
    engine = await startWebhookEngine(database.url);
    organizationId = await createOrganization(engine);
  });
  afterAll(async () => {
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
  const createLog = (wake: WebhookWakeUps['wake']): WebhookLogService =>
    new WebhookLogService(new WebhookLogRepository(engine.dataSource), new GuardedClient(rules), { wake });
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

  it('is committed without a wake-up', async () => {
    const log = createLog(() => Promise.resolve());
    const { id } = await sendTest(log);
    expect(await engine.service.deliverDue()).toBe(1);
    expect(await log.get(organizationId, id)).toMatchObject({ state: 'delivered' });
  });

  it('is due in the millisecond of its request', async () => {
    const { id } = await sendTest(createLog(() => Promise.resolve()));
    await engine.dataSource.query(`
      DO $$ BEGIN
        FOR round IN 1..20 LOOP
          UPDATE webhook_delivery SET next_at = clock_timestamp(), lease_until = NULL WHERE id = '${id}';
          IF NOT EXISTS (SELECT FROM webhook_claim(1, 60, 8, 8)) THEN RAISE 'not due in round %', round; END IF;
        END LOOP;
      END $$`);
    await engine.dataSource.query('DELETE FROM webhook_delivery WHERE id = $1', [id]);
  });

  it('wakes a delivering process through Redis, like the end of a job', async () => {
    const config = loadConfig({ ...serverSettings(database.url), SECRETS_KEY, OUTBOUND_ALLOW_CIDRS: '127.0.0.1' });
    const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(config), {
      logger: false,
      abortOnError: false,
    });
    closings.push(() => app.close());
    await app.get<Queue>(getQueueToken(WEBHOOK_QUEUE), { strict: false }).waitUntilReady();
    const service = app.get(WebhookDeliveryService, { strict: false });
    const woken: string[] = [];
    jest.spyOn(service, 'deliver').mockImplementation(({ id }) => (woken.push(id), Promise.resolve(null)));

    const test = await sendTest(app.get(WebhookLogService, { strict: false }));
    await until('the wake-up', 20_000, () => woken.includes(test.id));
    const [jobId = ''] = await endJobs(engine, organizationId, ['https://hooks.example.com/']);
    const { id } = await deliveryOf(engine, jobId);
    await service.wakeForJob(organizationId, jobId);
    await until('the wake-up', 20_000, () => woken.includes(id));
  });

  it('is posted on its wake-up; the wake-up says when the next attempt is due', async () => {
    host.answer = (response) => response.writeHead(500).end();
    const { id } = await sendTest(createLog(() => Promise.resolve()));
    const nextInMs = await engine.service.deliver({ organizationId, id });
    expect(Math.abs((nextInMs ?? 0) - 5_000)).toBeLessThanOrEqual(allowedMs(750));
    expect(await engine.service.deliver({ organizationId, id })).toBeGreaterThan(0);
    await engine.dataSource.query('UPDATE webhook_delivery SET next_at = now() WHERE id = $1', [id]);
    host.answer = (response) => response.writeHead(204).end();
    expect(await engine.service.deliver({ organizationId, id })).toBeNull();
    expect(await createLog(() => Promise.resolve()).get(organizationId, id)).toMatchObject({ attempts: 2 });
  });

  it('that this process posts already ends with that post, not with its lease', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    host.answer = (response) => void released.then(() => response.writeHead(204).end());
    const { id } = await sendTest(createLog(() => Promise.resolve()));
    await engine.service.claimSoon();
    const delivered = engine.service.deliver({ organizationId, id });
    release();
    expect(await delivered).toBeNull();
  });

  it('ends with its post also when that ends while the wake-up reads the delivery', async () => {
    const { repository } = engine;
    const [read, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const findDueInMs = repository.findDueInMs.bind(repository);
    const record = repository.record.bind(repository);
    closings.push(() => jest.restoreAllMocks());
    jest.spyOn(repository, 'findDueInMs').mockImplementationOnce(async (delivery) => {
      const dueInMs = await findDueInMs(delivery);
      read.resolve();
      await recorded.promise;
      // The post ends after its record.
      await setImmediate();
      return dueInMs;
    });
    jest.spyOn(repository, 'record').mockImplementationOnce(async (...outcome) => {
      const isRecorded = await record(...outcome);
      recorded.resolve();
      return isRecorded;
    });
    host.answer = (response) => void read.promise.then(() => response.writeHead(204).end());
    const { id } = await sendTest(createLog(() => Promise.resolve()));
    await engine.service.claimSoon();
    const delivered = engine.service.deliver({ organizationId, id });
    expect(await delivered).toBeNull();
  });
});
