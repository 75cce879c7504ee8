import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { Metrics } from '../core/observability/metrics/catalogue';
import type { LedgerAuditService } from '../billing/ledger/ledger-audit.service';
import type { ReadDatabase } from '../core/database/read-database';
import type { Clock } from '../core/time/clock';
import type { DrainService } from './availability';
import { ReadinessService } from './readiness.service';

function createReadiness(
  reads: Pick<ReadDatabase, 'source' | 'connections'> = { source: 'replica', connections: null },
) {
  const servers = { asked: 0, redisIsUp: true };
  const clock = { nowMs: 0 };
  const drain = { stopping: false };
  const metrics = new Metrics();
  const readiness = new ReadinessService(
    {
      query: async () => void servers.asked++,
      migrations: [],
      showMigrations: async () => false,
    } as unknown as DataSource,
    {
      on: () => undefined,
      evalsha: async (_sha: string, _keys: number, _key: string, payload: string) => {
        if (!servers.redisIsUp) throw new Error('down');
        return JSON.stringify([JSON.parse(payload)[0], 0, [[0, 0]]]);
      },
    } as unknown as Redis,
    { state: 'ok', ageMs: 34_567 } as LedgerAuditService,
    drain as DrainService,
    { now: () => clock.nowMs, monotonic: () => clock.nowMs } as Clock,
    metrics,
    reads as ReadDatabase,
  );
  const ask = async (): Promise<string> => (await readiness.check()).status;
  return { readiness, servers, clock, drain, metrics, ask };
}

describe('ReadinessService', () => {
  it('checks dependencies once for all probes within a second', async () => {
    const { servers, clock, ask } = createReadiness();
    expect(new Set(await Promise.all(Array.from({ length: 1_000 }, ask)))).toEqual(new Set(['ready']));
    clock.nowMs = 999;
    await ask();
    const askedFirst = servers.asked;
    clock.nowMs = 1_000;
    await ask();
    expect(servers.asked).toBeGreaterThan(askedFirst);
    servers.asked = 0;
    await Promise.all(Array.from({ length: 1_000 }, ask));
    expect(servers.asked).toBe(0);
  });

  it('reports the age of the last ledger audit, and the database that serves lists', async () => {
    const { readiness } = createReadiness();
    const details = { ledger_audit_age_seconds: 34, reads_from: 'replica' };
    expect(await readiness.check()).toMatchObject({ checks: { ledger: 'ok' }, ...details });
  });

  it('sets dependency_up for a replica while lists are read from it, and omits it without a replica', async () => {
    const replicaUp = async (reads?: Pick<ReadDatabase, 'source' | 'connections'>): Promise<number | undefined> => {
      const { readiness, metrics } = createReadiness(reads);
      await readiness.check();
      const { values } = (await metrics.registry.getSingleMetric('gateway_dependency_up')?.get()) ?? {};
      return values?.find(({ labels }) => labels.name === 'replica')?.value;
    };
    const connections = { totalCount: 1, idleCount: 1, waitingCount: 0 };
    expect([
      await replicaUp({ source: 'replica', connections }),
      await replicaUp({ source: 'primary', connections }),
      await replicaUp({ source: 'primary', connections: null }),
    ]).toEqual([1, 0, undefined]);
  });

  it('reports a shutdown immediately', async () => {
    const { drain, ask } = createReadiness();
    expect(await ask()).toBe('ready');
    drain.stopping = true;
    expect(await ask()).toBe('not_ready');
  });

  it('checks a failed dependency again after 100 ms', async () => {
    const { servers, clock, ask } = createReadiness();
    servers.redisIsUp = false;
    expect(await ask()).toBe('not_ready');
    servers.redisIsUp = true;
    clock.nowMs = 99;
    expect(await ask()).toBe('not_ready');
    clock.nowMs = 100;
    expect(await ask()).toBe('ready');
  });
});
