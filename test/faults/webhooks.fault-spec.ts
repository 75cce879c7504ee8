import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  createOrganization,
  deliveryOf,
  endJobs,
  letPass,
  logOf,
  SECRETS_KEY,
  startWebhookEngine,
  verify,
  type WebhookEngine,
} from '../integration/webhooks/webhook-engine';
import { endChildren, ManagedChild } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { PublicHost } from '../harness/public-host';
import { createTestRedis } from '../harness/redis';
import { FULL, report, until } from './figures';
import { memoryGrowthMiB } from './process-memory';

const REGISTER = resolve(__dirname, '../harness/register-typescript.js');
const WORKER = resolve(__dirname, 'webhook-worker.ts');
const WITHIN_MS = 15_000;
const KILLS = FULL ? 10 : 2;
const ANSWER_BYTES = 200 * 1024 * 1024;

let directory: string;
let database: TestDatabase;
let host: PublicHost;
let operator: WebhookEngine;
let organizationId: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'webhook-faults-'));
  [database, host] = await Promise.all([createTestDatabase(), PublicHost.start()]);
  writeFileSync(join(directory, 'ca.pem'), host.certificate);
  operator = await startWebhookEngine(database.url);
  organizationId = await createOrganization(operator);
});
afterEach(endChildren);
afterAll(async () => {
  await operator.close();
  await host.stop();
  await database.drop();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  host.seen.length = 0;
});

async function startWorker(): Promise<ManagedChild> {
  const child = new ManagedChild({
    command: process.execPath,
    args: ['--require', REGISTER, WORKER],
    options: {
      cwd: directory,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'test',
        DATABASE_URL: database.url,
        REDIS_URL: createTestRedis().url,
        SECRETS_KEY,
        OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
        NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem'),
      },
    },
    stopSignal: 'SIGTERM',
  });
  await until('the start', WITHIN_MS, () => {
    if (child.hasExited) throw new Error(child.output);
    return child.output.includes('delivering');
  });
  return child;
}

async function endOne(): Promise<string> {
  const [jobId = ''] = await endJobs(operator, organizationId, [host.url('/hook')]);
  return jobId;
}

const isDelivered = async (jobId: string) => (await deliveryOf(operator, jobId)).state === 'delivered';

describe('F-46: kill -9 during a webhook delivery', () => {
  it(`delivers the event again, once per kill, with the same id: ${KILLS} kills`, async () => {
    host.answer = () => undefined;
    const jobId = await endOne();
    for (let kill = 1; kill <= KILLS; kill++) {
      const worker = await startWorker();
      await until('the post', WITHIN_MS, () => host.seen.length === kill);
      await worker.kill();
      expect(await deliveryOf(operator, jobId)).toMatchObject({ state: 'pending', attempt: kill, is_leased: true });
      // The minute until a dead worker's claim expires.
      await letPass(operator, jobId, 60);
    }
    host.answer = (response) => response.writeHead(200).end();
    const worker = await startWorker();
    await until('the delivery', WITHIN_MS, () => isDelivered(jobId));
    await worker.end();

    const secret = await operator.secrets.require(organizationId);
    expect(host.seen).toHaveLength(KILLS + 1);
    expect(new Set(host.seen.map((request) => request.headers['webhook-id'])).size).toBe(1);
    for (const request of host.seen) expect(verify(request, secret).job.id).toBe(jobId);
    expect(await logOf(operator, jobId)).toEqual([[KILLS + 1, 200, null]]);
    report('F-46', { kills: KILLS, received: host.seen.length, delivered: 1 });
  });

  it('does not affect a delivery in flight at SIGTERM: it is completed, recorded and not repeated', async () => {
    const held: ServerResponse[] = [];
    host.answer = (response) => held.push(response);
    const jobId = await endOne();
    const worker = await startWorker();
    await until('the post', WITHIN_MS, () => held.length === 1);
    const ended = worker.end('SIGTERM');
    setTimeout(() => held[0]?.writeHead(204).end(), 200);
    await expect(ended).resolves.toEqual({ code: 0, signal: null });
    expect(await deliveryOf(operator, jobId)).toMatchObject({ state: 'delivered', attempt: 1, last_status: 204 });
    expect(host.seen).toHaveLength(1);
  });
});

describe('F-45: a webhook response of 200 MB', () => {
  it('counts by its status, is not read, and takes no memory', async () => {
    host.answer = (response) => response.writeHead(200).end();
    const worker = await startWorker();
    // Excludes the memory of the first delivery.
    for (const jobId of [await endOne(), await endOne(), await endOne()]) {
      await until('a delivery', WITHIN_MS, () => isDelivered(jobId));
    }
    let written = 0;
    host.answer = (response) => {
      const piece = Buffer.alloc(1024 * 1024);
      const more = (): void => {
        while (!response.destroyed && written < ANSWER_BYTES) {
          written += piece.length;
          if (!response.write(piece)) return;
        }
        response.end();
      };
      response.on('drain', more);
      response.writeHead(200, { 'content-length': ANSWER_BYTES });
      more();
    };
    const grownMiB = await memoryGrowthMiB(worker.pid, async () => {
      const jobs = await endJobs(
        operator,
        organizationId,
        Array.from({ length: 4 }, () => host.url('/')),
      );
      for (const job of jobs) await until('a delivery', WITHIN_MS, () => isDelivered(job));
    });
    report('F-45, answers of 200 MB', { writtenMiB: written / 2 ** 20, grownMiB });
    expect(written).toBeLessThan(ANSWER_BYTES);
    expect(grownMiB).toBeLessThan(32);
  });
});
