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
afterEach(() => engine.dataSource.query('DELETE FROM webhook_delivery'));

const ALWAYS = { state: 'delivered' } as const;
const times = (count: number, url: (n: number) => string): string[] => Array.from({ length: count }, (_, n) => url(n));
const urlsOf = (claimed: readonly { url: string }[]): string[] => claimed.map(({ url }) => url);

describe('claims', () => {
  it('take at most four per host and organization in any spelling of the host, the longest overdue first', async () => {
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

  it('take at most sixteen per organization', async () => {
    await endJobs(
      engine,
      await createOrganization(engine),
      times(20, (n) => `https://h${n}.example.com/`),
    );
    expect(await engine.repository.claim(64)).toHaveLength(16);
    expect(await other.repository.claim(64)).toEqual([]);
  });

  it('skip deliveries that are not due', async () => {
    const organizationId = await createOrganization(engine);
    const [later = '', now] = await endJobs(engine, organizationId, [
      'https://a.example.com/',
      'https://b.example.com/',
    ]);
    await letPass(engine, later, -600);
    expect((await engine.repository.claim(64)).map(({ jobId }) => jobId)).toEqual([now]);
  });

  it('serve organizations round-robin despite a backlog of one', async () => {
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

  it('serve organizations round-robin at one host', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(
      engine,
      busy,
      times(300, (n) => `https://shared.example.com/busy/${n}`),
    );
    await endJobs(engine, quiet, ['https://shared.example.com/quiet']);
    const claimed = await engine.repository.claim(64);
    expect(claimed).toHaveLength(5);
    expect(urlsOf(claimed)).toContain('https://shared.example.com/quiet');
  });

  it('keep slots at a host for other organizations, at most eight in total', async () => {
    const shares: number[] = [];
    for (let n = 0; n < 6; n++) {
      const id = await createOrganization(engine);
      await endJobs(engine, id, Array<string>(10).fill('https://shared.example.com/'));
      shares.push((await engine.repository.claim(64)).filter(({ organizationId }) => organizationId === id).length);
    }
    expect(shares).toEqual([4, 2, 1, 1, 0, 0]);
  });

  it('prefer the organization with the fewest posts under way at a host', async () => {
    const [busy, quiet] = [await createOrganization(engine), await createOrganization(engine)];
    await endJobs(engine, busy, Array<string>(10).fill('https://shared.example.com/busy'));
    const [first] = await engine.repository.claim(1);
    await engine.repository.claim(1);
    await endJobs(engine, quiet, Array<string>(2).fill('https://shared.example.com/quiet'));
    expect(urlsOf(await engine.repository.claim(1))).toEqual(['https://shared.example.com/quiet']);
    if (first === undefined) throw new Error('one was to be claimed');
    await engine.repository.record(first, { status: 200, error: null }, 1, ALWAYS);
    // One post each: the longest overdue delivery is next.
    expect(urlsOf(await engine.repository.claim(1))).toEqual(['https://shared.example.com/busy']);
  });

  it('do not delay a host because another is slow', async () => {
    const organizationId = await createOrganization(engine);
    await endJobs(engine, organizationId, [
      ...times(300, (n) => `https://slow.example.com/${n}`),
      'https://quick.example.com/',
    ]);
    const [first, second] = [await engine.repository.claim(64), await engine.repository.claim(64)];
    expect(urlsOf([...first, ...second]).filter((url) => url.includes('slow'))).toHaveLength(4);
    expect(urlsOf([...first, ...second])).toContain('https://quick.example.com/');
  });

  it('of concurrent processes never take a delivery twice or exceed the limits', async () => {
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
    const hosts = claimed.map(({ url }) => new URL(url).hostname);
    expect(largestGroup(hosts)).toBeLessThanOrEqual(8);
    expect(largestGroup(claimed.map(({ organizationId }, n) => `${organizationId} ${hosts[n]}`))).toBeLessThanOrEqual(
      4,
    );
    expect(largestGroup(claimed.map(({ organizationId }) => organizationId))).toBeLessThanOrEqual(16);
  });

  it('count deliveries that another process is claiming', async () => {
    const busy = await createOrganization(engine);
    await endJobs(
      engine,
      busy,
      times(4, (n) => `https://shared.example.com/${n}`),
    );
    let late: Promise<unknown[]> | undefined;
    await other.dataSource.transaction(async (manager) => {
      await manager.query('SELECT webhook_claim(4, 60, 8, 16)');
      await endJobs(engine, busy, ['https://shared.example.com/late']);
      late = engine.repository.claim(64);
      await Promise.race([late, untilClaimWaits()]);
    });
    await expect(late).resolves.toEqual([]);
  });

  it('of a dead process are taken over after a minute, as another attempt', async () => {
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

  it('skip rows locked by a deletion', async () => {
    const [jobId] = await endJobs(engine, await createOrganization(engine), [
      'https://a.example.com/',
      'https://b.example.com/',
    ]);
    await other.dataSource.transaction(async (manager) => {
      await manager.query('DELETE FROM webhook_delivery WHERE job_id = $1', [jobId]);
      expect(urlsOf(await engine.repository.claim(64))).toEqual(['https://b.example.com/']);
    });
  });

  it('are fast with a backlog of 20,000 for a slow host', async () => {
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
    // Claims run every second.
    expect(tookMs).toBeLessThan(allowedMs(1_000));
  });
});

function largestGroup(names: readonly string[]): number {
  return Math.max(...Object.values(Object.groupBy(names, (name) => name)).map((group) => group?.length ?? 0));
}

/** Resolves when a claim waits for the claim lock. */
async function untilClaimWaits(): Promise<void> {
  const waiting = `
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`;
  for (let looks = 0; looks < 1_000; looks++) {
    if ((await engine.dataSource.query<unknown[]>(waiting)).length > 0) return;
    await delay(5);
  }
}
