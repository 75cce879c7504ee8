import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { digestToken, generateToken } from '../../src/core/secrets/secret-token';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type Exchange } from './chat-load';
import { FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';

const PER_SECOND = FULL ? 200 : 50;
/** One second in the design; on a busy machine still far below the cache lifetime without an invalidation. */
const WITHIN_MS = FULL ? 1_000 : 10_000;
/** Requests alternate between the gateways: this many consecutive responses cover both. */
const SETTLED_AFTER = 20;

/** Changes in the dashboard, and the responses of every process afterwards. */
const CHANGES: readonly (readonly [path: string, body: object | null, answer: string])[] = [
  ['', { allowed_models: ['other/*'] }, '403 model_not_allowed'],
  ['', { allowed_models: null, daily_budget_micro: 0 }, '402 budget_exceeded'],
  ['', { daily_budget_micro: null, allowed_ips: ['203.0.113.7'] }, '403 ip_not_allowed'],
  ['', { allowed_ips: null }, 'complete'],
  ['/disable', null, '401 key_disabled'],
  ['/enable', null, 'complete'],
  ['/revoke', null, '401 key_revoked'],
];

describe(`a key used by ${PER_SECOND} requests a second at two gateways`, () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  it('follows a dashboard change at both gateways within a second of its response', async () => {
    const customer = await operator.customer();
    const cookie = await signIn(customer);
    const load = startLoad(customer.key);
    await until('both gateways serve it', 10_000, () => isSettled(load.exchanges, 'complete', 0));
    for (const [path, body, answer] of CHANGES) {
      expect(await change(customer, cookie, path, body)).toBe(200);
      const answeredAtMs = performance.now();
      await until(`${answer} from both`, WITHIN_MS, () => isSettled(load.exchanges, answer, answeredAtMs));
      if (FULL) await delay(1_500);
      const after = load.exchanges.filter(({ startedAtMs }) => startedAtMs > answeredAtMs);
      // Requests that a busy machine refuses have seen neither the old nor the new settings.
      const other = after
        .filter((exchange) => outcomeOf(exchange) !== answer)
        .filter(({ code }) => FULL || code !== 'service_unavailable');
      const lastOtherMs = Math.max(0, ...other.map(({ startedAtMs }) => startedAtMs - answeredAtMs));
      report(`key change to ${answer}`, { requests: after.length, other: other.length, lastOtherMs });
      expect(lastOtherMs).toBeLessThan(WITHIN_MS);
    }
    await load.stop();
    expect(await operator.violations()).toEqual([]);
  });

  /** The cookie of a user who may change the customer's keys. */
  async function signIn({ organizationId }: Customer): Promise<string> {
    const userId = randomUUID();
    const token = generateToken();
    await operator.rows(
      `INSERT INTO user_account (id, email, email_key, name, password_hash, email_verified_at)
       VALUES ($1::uuid, $1::text, $1::text, 'Developer', 'none', now())`,
      [userId],
    );
    await operator.rows(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'developer')`,
      [organizationId, userId],
    );
    await operator.rows(
      `INSERT INTO user_session (id, user_id, digest, created_at, last_seen_at, expires_at)
       VALUES ($1, $1, $2, now(), now(), now() + interval '1 hour')`,
      [userId, digestToken(token)],
    );
    return `sid=${token}`;
  }

  async function change(
    { organizationId, keyId }: Customer,
    cookie: string,
    path: string,
    body: object | null,
  ): Promise<number> {
    const url = `${gateways[0]?.url}/dashboard/api/organizations/${organizationId}/keys/${keyId}${path}`;
    for (;;) {
      const reply = await fetch(url, {
        method: body === null ? 'POST' : 'PATCH',
        headers: { cookie, 'x-requested-with': 'test', ...(body !== null && { 'content-type': 'application/json' }) },
        body: body === null ? undefined : JSON.stringify(body),
      });
      await reply.text();
      if (reply.status !== 503) return reply.status;
    }
  }

  /** Requests sent on schedule, whether or not earlier ones were answered. */
  function startLoad(key: string): { readonly exchanges: Exchange[]; stop(): Promise<unknown> } {
    const exchanges: Exchange[] = [];
    const sent: Promise<unknown>[] = [];
    const startedAtMs = performance.now();
    const timer = setInterval(() => {
      for (const due = ((performance.now() - startedAtMs) / 1_000) * PER_SECOND; sent.length < due;) {
        const { url } = gateways[sent.length % gateways.length] as GatewayProcess;
        sent.push(chat({ url, key, body: chatBody('delay=0') }).then((exchange) => exchanges.push(exchange)));
      }
    }, 5);
    return {
      exchanges,
      stop: () => {
        clearInterval(timer);
        return Promise.all(sent);
      },
    };
  }
});

/** Whether the last responses of both gateways, to requests sent since then, all match. */
function isSettled(exchanges: readonly Exchange[], answer: string, sinceMs: number): boolean {
  const last = exchanges.filter(({ startedAtMs }) => startedAtMs > sinceMs).slice(-SETTLED_AFTER);
  return last.length === SETTLED_AFTER && last.every((exchange) => outcomeOf(exchange) === answer);
}

/** As named in `CHANGES`. */
function outcomeOf({ outcome, status, code }: Exchange): string {
  return outcome === 'refused' ? `${status} ${code}` : outcome;
}
