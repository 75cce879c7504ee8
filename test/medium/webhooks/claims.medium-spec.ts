import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { WebhookDeliveryRepository } from '../../../src/webhooks/webhook-delivery.repository';
import { allowedMs } from '../../faults/figures';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createOrganization,
  deliveryOf,
  endJobs,
  letPass,
  startWebhookEngine,
  type WebhookEngine,
} from './webhook-engine';

Logger.overrideLogger(false);
let database: TestDatabase;
let engine: WebhookEngine;
let other: WebhookEngine;
beforeAll(async () => {
  database = await createTestDatabase();
  engine = await startWebhookEngine(database.url);
  other = await startWebhookEngine(database.url);
});
afterAll(async () => {
  await Promise.all([engine.close(), other.close()]);
  await database.drop();
});
afterEach(() => engine.dataSource.query('DELETE FROM media_job'));

const ALWAYS = { state: 'delivered' } as const;
const times = (count: number, url: (n: number) => string): string[] => Array.from({ length: count }, (_, n) => url(n));
const urlsOf = (claimed: readonly { url: string }[]): string[] => claimed.map(({ url }) => url);

describe('claims', () => {
  it('take at most four to one host, in any spelling of it, the longest overdue first', async () => {
    const jobs = await endJobs(engine, await createOrganization(engine), [
      ...times(6, (n) => `https://a.example.com:${8_000 + n}/`),
      'https://b.example.com/',
    ]);
    const claimed = await engine.repository.claim(64);
    expect(claimed.map(({ jobId }) => jobId).toSorted()).toEqual([...jobs.slice(0, 4), ...jobs.slice(6)].toSorted());
    expect(await engine.repository.claim(64)).toEqual([]);
    const [first] = claimed;
    if (first === undefined) throw new Error('one was to be claimed');
    await engine.repository.record(first, { status: 200, error: null }, 1, ALWAYS);
    expect(await engine.repository.claim(64)).toHaveLength(1);
  });

  it('take at most sixteen of one organization', async () => {
    await endJobs(
      engine,
      await createOrganization(engine),
      times(20, (n) => `https://h${n}.example.com/`),
    );
    expect(await engine.repository.claim(64)).toHaveLength(16);
    expect(await other.repository.claim(64)).toEqual([]);
  });

  it('leave what is not due yet', async () => {
    const organizationId = await createOrganization(engine);
    const [later = '', now] = await endJobs(engine, organizationId, [
      'https://a.example.com/',
      'https://b.example.com/',
    ]);
    await letPass(engine, later, -600);
    expect((await engine.repository.claim(64)).map(({ jobId }) => jobId)).toEqual([now]);
  });

  it('let organizations take turns, whatever the backlog of one', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(
      engine,
      busy,
      times(300, (n) => `https://h${n}.example.com/`),
    );
    await endJobs(engine, quiet, ['https://q1.example.com/', 'https://q2.example.com/']);
    const claimed = await engine.repository.claim(4);
    expect(claimed.filter(({ organizationId }) => organizationId === quiet)).toHaveLength(2);
  });

  it('let organizations take turns at one host too', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(
      engine,
      busy,
      times(300, (n) => `https://shared.example.com/busy/${n}`),
    );
    await endJobs(engine, quiet, ['https://shared.example.com/quiet']);
    const claimed = await engine.repository.claim(64);
    expect(claimed).toHaveLength(4);
    expect(urlsOf(claimed)).toContain('https://shared.example.com/quiet');
  });

  it('keep no host waiting for another that is slow', async () => {
    const organizationId = await createOrganization(engine);
    await endJobs(engine, organizationId, [
      ...times(300, (n) => `https://slow.example.com/${n}`),
      'https://quick.example.com/',
    ]);
    const [first, second] = [await engine.repository.claim(64), await engine.repository.claim(64)];
    expect(urlsOf([...first, ...second]).filter((url) => url.includes('slow'))).toHaveLength(4);
    expect(urlsOf([...first, ...second])).toContain('https://quick.example.com/');
  });

  it('of many processes at once never take one delivery twice, nor pass the limits', async () => {
    const organizations = await Promise.all(times(5, String).map(() => createOrganization(engine)));
    for (const id of organizations)
      await endJobs(
        engine,
        id,
        times(30, (n) => `https://h${n % 7}.example.com/${n}`),
      );
    const claims = await Promise.all(
      times(24, String).map((_, n) => (n % 2 === 0 ? engine : other).repository.claim(1 + (n % 5))),
    );
    const claimed = claims.flat();
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(claimed.length);
    // Seven hosts of four: nothing is left that might be claimed.
    expect(claimed).toHaveLength(28);
    expect(largestGroup(claimed.map(({ url }) => new URL(url).hostname))).toBe(4);
    expect(largestGroup(claimed.map(({ organizationId }) => organizationId))).toBeLessThanOrEqual(16);
  });

  it('count what another process is just taking', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(
      engine,
      busy,
      times(4, (n) => `https://shared.example.com/${n}`),
    );
    let late: Promise<unknown[]> | undefined;
    await other.dataSource.transaction(async (manager) => {
      await manager.query('SELECT webhook_claim(4, 60, 4, 16)');
      await endJobs(engine, quiet, ['https://shared.example.com/late']);
      late = engine.repository.claim(64);
      await Promise.race([late, somebodyWaits()]);
    });
    await expect(late).resolves.toEqual([]);
  });

  it('of a process that died are taken over after a minute, as another attempt', async () => {
    const [jobId = ''] = await endJobs(engine, await createOrganization(engine), ['https://a.example.com/']);
    const [died] = await engine.repository.claim(1);
    await letPass(engine, jobId, 30);
    expect(await other.repository.claim(1)).toEqual([]);
    await letPass(engine, jobId, 30);
    const [taken] = await other.repository.claim(1);
    expect([died, taken]).toEqual([
      expect.objectContaining({ id: died?.id, attempt: 1 }),
      expect.objectContaining({ id: died?.id, attempt: 2 }),
    ]);
    expect(await deliveryOf(engine, jobId)).toMatchObject({ state: 'pending', attempt: 2 });
  });

  it('do not wait for rows that somebody is deleting', async () => {
    const [jobId] = await endJobs(engine, await createOrganization(engine), [
      'https://a.example.com/',
      'https://b.example.com/',
    ]);
    await other.dataSource.transaction(async (manager) => {
      await manager.query('DELETE FROM webhook_delivery WHERE job_id = $1', [jobId]);
      expect(urlsOf(await engine.repository.claim(64))).toEqual(['https://b.example.com/']);
    });
  });

  it('are read from a backlog of 20,000 for a host that is slow without holding up the others', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(
      engine,
      busy,
      times(20_000, (n) => `https://slow.example.com/${n}`),
    );
    await engine.repository.claim(64);
    await endJobs(engine, quiet, ['https://q.example.com/']);
    const startedAt = performance.now();
    expect(urlsOf(await new WebhookDeliveryRepository(engine.dataSource).claim(64))).toEqual([
      'https://q.example.com/',
    ]);
    const tookMs = performance.now() - startedAt;
    process.stdout.write(`a claim over 20,000 waiting deliveries: ${tookMs.toFixed(1)} ms\n`);
    // A look is taken every second.
    expect(tookMs).toBeLessThan(allowedMs(1_000));
  });
});

function largestGroup(names: readonly string[]): number {
  return Math.max(...Object.values(Object.groupBy(names, (name) => name)).map((group) => group?.length ?? 0));
}

/** For the one claim that may be made at a time. */
async function somebodyWaits(): Promise<void> {
  const waiting = `
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`;
  for (let looks = 0; looks < 1_000; looks++) {
    if ((await engine.dataSource.query<unknown[]>(waiting)).length > 0) return;
    await delay(5);
  }
}
