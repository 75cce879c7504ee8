/** F-13. The effect of one organization with a locked account on all others. It compares times, so it runs alone. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, createTestPool, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatBody, ChatLoad, durationOf, type Exchange, summarize } from './chat-load';
import { quantile, report } from './figures';
import { type Customer, Operator } from './operator';

const OTHERS = 16;
/** More than the connections for billing. */
const HELD_UP = 64;
const WARM_UP_MS = 2_000;
const BASE_MS = 10_000;
const LOCKED_MS = 20_000;
const AFTERMATH_MS = 3_000;

describe('an organization whose account is locked for 20 s', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let pool: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    pool = createTestPool(database.url, 1);
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url });
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await pool.end();
    await database.drop();
  });

  const loadOf = ({ key }: Customer, callers: number): ChatLoad =>
    new ChatLoad(callers, () => ({ url: gateway.url, key, body: chatBody('first_token=50ms delay=0') }));
  const between = (exchanges: readonly Exchange[], fromMs: number, toMs: number): readonly Exchange[] =>
    exchanges.filter(({ startedAtMs, endedAtMs }) => startedAtMs >= fromMs && endedAtMs <= toMs);
  const p99Of = (exchanges: readonly Exchange[]): number => quantile(exchanges.map(durationOf), 0.99);

  it('gets 503 within 1.5 s each time, while the p99 of other organizations at most triples', async () => {
    const [held, free] = [await operator.customer(), await operator.customer()];
    const others = loadOf(free, OTHERS);
    await delay(WARM_UP_MS);
    const baseFromMs = performance.now();
    await delay(BASE_MS);

    const blocker = await pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
      held.organizationId,
    ]);
    const lockedAtMs = performance.now();
    const load = loadOf(held, HELD_UP);
    await delay(LOCKED_MS);
    const unlockedAtMs = performance.now();
    await blocker.query('ROLLBACK');
    blocker.release();
    await delay(AFTERMATH_MS);
    const [locked, spared] = [await load.stop(), await others.stop()];

    const refused = between(locked, lockedAtMs, unlockedAtMs);
    const base = p99Of(between(spared, baseFromMs, lockedAtMs));
    const meanwhile = p99Of(between(spared, lockedAtMs, unlockedAtMs));
    const after = locked.filter(({ startedAtMs }) => startedAtMs > unlockedAtMs + AFTERMATH_MS / 2);
    const figures = {
      baseP99Ms: Math.round(base),
      meanwhileP99Ms: Math.round(meanwhile),
      slowestRefusalMs: Math.round(Math.max(...refused.map(durationOf))),
      refusals: summarize(refused),
      after: summarize(after),
    };
    report('F-13', figures);
    expect(Object.keys(summarize(spared))).toEqual(['complete']);
    expect(Object.keys(figures.refusals)).toEqual(['503 service_unavailable']);
    expect(Object.keys(figures.after)).toEqual(['complete']);
    expect(figures.slowestRefusalMs).toBeLessThanOrEqual(1_500);
    expect(meanwhile).toBeLessThanOrEqual(3 * base);
  }, 120_000);
});
