import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadConfig } from '../../../src/core/config/load-config';
import { GuardedClient } from '../../../src/core/outbound/guarded-client';
import { systemClock } from '../../../src/core/time/clock';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { uuidV7 } from '../../../src/core/types/ids';
import { WebhookDeliveryRepository } from '../../../src/webhooks/webhook-delivery.repository';
import { WebhookDeliveryService } from '../../../src/webhooks/webhook-delivery.service';
import { WebhookLogRepository } from '../../../src/webhooks/webhook-log.repository';
import { WebhookLogService } from '../../../src/webhooks/webhook-log.service';
import { createAccount } from '../billing/money-engine';
import { FAILED, finish, startJobEngine, SUCCEEDED, submit, workOn } from '../media-jobs/job-engine';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { allowedMs } from '../../faults/figures';
import { PublicHost } from '../../harness/public-host';
import { serverSettings } from '../../harness/servers';
import {
  createOrganization,
  deliveryOf,
  endJobs,
  type EngineSettings,
  SECRETS_KEY,
  startWebhookEngine,
  type WebhookEngine,
} from './webhook-engine';
import { WorkerModule } from './worker-module';

Logger.overrideLogger(false);
let database: TestDatabase;
let host: PublicHost;
let operator: WebhookEngine;
let organizationId: string;
const engines: WebhookEngine[] = [];
const sweeps: NodeJS.Timeout[] = [];
beforeAll(async () => {
  [database, host] = await Promise.all([createTestDatabase(), PublicHost.start()]);
  operator = await startWebhookEngine(database.url);
  organizationId = await createOrganization(operator);
});
afterAll(async () => {
  await operator.close();
  await host.stop();
  await database.drop();
});
beforeEach(() => {
  host.seen.length = 0;
  host.answer = (response) => response.writeHead(200).end();
});
afterEach(async () => {
  for (const timer of sweeps.splice(0)) clearInterval(timer);
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

/** Claims deliveries regularly, as the scheduler of an application does, unless `sweepEveryMs` is `null`. */
async function startWorker({
  sweepEveryMs = 1_000,
  ...settings
}: EngineSettings & { readonly sweepEveryMs?: number | null } = {}): Promise<WebhookEngine> {
  const engine = await startWebhookEngine(database.url, settings);
  engines.push(engine);
  if (sweepEveryMs === null) return engine;
  const sweep = (): void => void engine.service.claimSoon();
  sweep();
  sweeps.push(setInterval(sweep, sweepEveryMs));
  return engine;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('it did not happen');
    await delay(10);
  }
}

async function endOne(): Promise<string> {
  const [jobId = ''] = await endJobs(operator, organizationId, [host.url('/')]);
  return jobId;
}

const isDelivered = async (jobId: string) => (await deliveryOf(operator, jobId)).state === 'delivered';

describe('webhook workers', () => {
  it('share the work: each event is sent once, at most four at a time per host', async () => {
    let open = 0;
    let most = 0;
    host.answer = (response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        response.writeHead(200).end();
      }, 20);
    };
    await Promise.all([startWorker(), startWorker()]);
    const jobs = await endJobs(
      operator,
      organizationId,
      Array.from({ length: 60 }, () => host.url('/')),
    );
    for (const job of jobs) await until(() => isDelivered(job));
    expect(host.seen).toHaveLength(60);
    expect(new Set(host.seen.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('deliver to a host for one organization while posts of another hang there', async () => {
    const held: ServerResponse[] = [];
    host.answer = (response, { url }) => {
      if (url === '/hangs') held.push(response);
      else response.writeHead(200).end();
    };
    await startWorker({ outbound: { limits: { webhookMs: 3_600_000 } } });
    const stuck = await endJobs(operator, organizationId, Array<string>(12).fill(host.url('/hangs')));
    await until(() => held.length === 4);
    const [quick = ''] = await endJobs(operator, await createOrganization(operator), [host.url('/answers')]);
    await until(() => isDelivered(quick));
    expect(held).toHaveLength(4);
    expect(await Promise.all(stuck.map(isDelivered))).not.toContain(true);
    host.answer = (response) => response.writeHead(200).end();
    for (const response of held) response.writeHead(200).end();
    for (const job of stuck) await until(() => isDelivered(job));
  });

  it('deliver within 2 s of the end of a job without a wake-up', async () => {
    await startWorker();
    const latencies: number[] = [];
    for (let n = 0; n < 8; n++) {
      await delay(130 * n);
      const seen = host.seen.length;
      const endedAt = performance.now();
      await endOne();
      await until(() => host.seen.length > seen);
      latencies.push(performance.now() - endedAt);
    }
    process.stdout.write(`from the end of a job to its webhook: ${latencies.map(Math.round).join(', ')} ms\n`);
    expect(Math.max(...latencies)).toBeLessThanOrEqual(allowedMs(2_000));
  });

  it('deliver on a wake-up, without a sweep', async () => {
    const { service } = await startWorker({ sweepEveryMs: null });
    for (let n = 1; n <= 10; n++) {
      // A delivery may be followed by a claim; wait until only a wake-up leads to the next one.
      await delay(200);
      const jobId = await endOne();
      await service.wakeForJob(organizationId, jobId);
      await until(() => isDelivered(jobId));
    }
  });

  it('continue when the database recovers', async () => {
    let failures = 2;
    class Flaky extends WebhookDeliveryRepository {
      override claim(limit: number) {
        return failures-- > 0 ? Promise.reject(new Error('the database is unavailable')) : super.claim(limit);
      }
    }
    const jobId = await endOne();
    await startWorker({ repository: (dataSource) => new Flaky(dataSource) });
    await until(() => isDelivered(jobId));
    expect(failures).toBeLessThan(0);
  });
});

describe('WebhooksModule', () => {
  it('delivers while the application runs; on shutdown it finishes and records posts and starts none', async () => {
    const held: ServerResponse[] = [];
    host.answer = (response) => held.push(response);
    const config = loadConfig({ ...serverSettings(database.url), SECRETS_KEY, OUTBOUND_ALLOW_CIDRS: '127.0.0.1' });
    const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(config), {
      logger: false,
      abortOnError: false,
    });
    const jobId = await endOne();
    await until(() => held.length === 1);

    // Stopped twice, as in a process that drains before it closes.
    const service = app.get(WebhookDeliveryService, { strict: false });
    const closed = Promise.all([service.stop(), app.close()]).then(() => 'closed');
    const late = await endOne();
    void service.claimSoon();
    await expect(Promise.race([closed, delay(1_500, 'still open')])).resolves.toBe('still open');
    held[0]?.writeHead(204).end();
    await expect(Promise.race([closed, delay(60_000, 'still open', { ref: false })])).resolves.toBe('closed');

    expect(await deliveryOf(operator, jobId)).toMatchObject({ state: 'delivered', last_status: 204 });
    expect(await deliveryOf(operator, late)).toMatchObject({ state: 'pending', attempt: 0 });
    expect(held).toHaveLength(1);
  });
});

describe('the host of a delivery', () => {
  /** The deliveries of a job that succeeds and of one that fails. */
  async function deliveriesTo(webhookUrl: string, isOfPreviousRelease = false): Promise<object[]> {
    const engine = await startJobEngine(database.url);
    try {
      const account = await createAccount(engine.money.pool);
      const done = await submit(engine, account, { webhookUrl });
      const failed = await submit(engine, account, { webhookUrl });
      if (isOfPreviousRelease) {
        await engine.dataSource.query('UPDATE media_job SET webhook_host = NULL WHERE organization_id = $1', [
          account.organizationId,
        ]);
      }
      await finish(engine, await workOn(engine, done, 'finalizing'), SUCCEEDED);
      await finish(engine, failed, FAILED);
      return await engine.dataSource.query<object[]>(
        `SELECT event, url, target_host FROM webhook_delivery WHERE organization_id = $1 ORDER BY event`,
        [account.organizationId],
      );
    } finally {
      await engine.close();
    }
  }

  it.each([
    ['https://%68ooks.Example.com:8443/a?b=c', 'hooks.example.com'],
    ['https://hooks.example.com./', 'hooks.example.com'],
    ['https://bücher.example', 'xn--bcher-kva.example'],
    ['https://0x5db8d822/', '93.184.216.34'],
    ['https://[2606:4700:0::1111]:8443/', '[2606:4700::1111]'],
  ])('is the same for all spellings, and the URL stays as submitted: %s', async (url, expected) => {
    expect(await deliveriesTo(url)).toEqual([
      { event: 'job.completed', url, target_host: expected },
      { event: 'job.failed', url, target_host: expected },
    ]);
  });

  it.each([
    ['https://Hooks.Example.com:8443/a?b=c', 'hooks.example.com'],
    ['HTTPS://hooks.example.com', 'hooks.example.com'],
    ['https://hooks.example.com?x=/', 'hooks.example.com'],
    ['https://[2606:4700::1111]:8443/', '[2606:4700::1111]'],
  ])('is cut out of the URL for a job that the previous release accepted: %s', async (url, expected) => {
    const delivery = { url, target_host: expected };
    expect(await deliveriesTo(url, true)).toMatchObject([delivery, delivery]);
  });

  it('of a test has no final dot either', async () => {
    const outbound = new GuardedClient({
      allowCidrs: [],
      denyCidrs: [],
      denyHosts: [],
      nat64: false,
      resolve: async () => ['93.184.216.34'],
    });
    const log = new WebhookLogService(new WebhookLogRepository(operator.dataSource), outbound, {
      wake: async () => {},
    });
    const url = 'https://hooks.example.com./';
    const { id } = await log.sendTest(organizationId, url, uuidV7(systemClock.now()), COMMAND_LINE);
    expect(
      await operator.dataSource.query('SELECT url, target_host FROM webhook_delivery WHERE id = $1', [id]),
    ).toEqual([{ url, target_host: 'hooks.example.com' }]);
  });
});
