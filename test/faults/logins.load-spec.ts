/** The cost of logins for users who log in and for other requests. It uses both cores, so it runs alone. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PasswordHasher } from '../../src/dashboard/accounts/password-hasher';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatBody, ChatLoad, durationOf } from './chat-load';
import { quantile, report } from './figures';
import { Operator } from './operator';

const PASSWORD = 'a password of these tests';
const USERS = 60;
const AT_ONCE = 40;
/** At least one password is hashed and 32 wait; other logins get Retry-After. */
const ADMITTED = 33;
const BURSTS = 10;
const PAUSE_MS = 1_000;
const BASE_MS = 10_000;
const CALLERS = 16;
/** Each e-mail may fail ten times. */
const GUESSES_PER_USER = 5;

interface LoginResult {
  readonly status: number;
  readonly ms: number;
}

describe('login', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let emails: string[];
  /** A separate Redis: failures are counted for all who share one. */
  const address = `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      environment: { SIGN_IN_ATTEMPTS_PER_ADDRESS: '1000000', TRUST_PROXY: '127.0.0.1' },
    });
    const hash = await new PasswordHasher().hash(PASSWORD);
    emails = Array.from({ length: USERS }, () => `${randomUUID()}@example.com`);
    await operator.rows(
      `INSERT INTO user_account (id, email, email_key, name, password_hash, email_verified_at)
       SELECT gen_random_uuid(), e, e, 'Ada', $2, now() FROM unnest($1::text[]) e`,
      [emails, hash],
    );
    await login(emails[0] as string, PASSWORD);
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  async function login(email: string, password: string): Promise<LoginResult> {
    const startedAtMs = performance.now();
    const response = await fetch(`${gateway.url}/dashboard/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-requested-with': 'test', 'x-forwarded-for': address },
      body: JSON.stringify({ email, password }),
    });
    await response.text();
    return { status: response.status, ms: performance.now() - startedAtMs };
  }

  it('of 40 users at once has a p99 of at most 1.5 s, and raises the p99 of inference by at most half', async () => {
    const { key } = await operator.customer(10n ** 15n);
    const body = chatBody('first_token=50ms delay=0');
    const load = new ChatLoad(CALLERS, () => ({ url: gateway.url, key, body }));
    await delay(PAUSE_MS);
    const baseFromMs = performance.now();
    await delay(BASE_MS);
    const burstsFromMs = performance.now();
    const logins: LoginResult[] = [];
    for (let burst = 0; burst < BURSTS; burst++) {
      logins.push(...(await Promise.all(emails.slice(0, AT_ONCE).map((email) => login(email, PASSWORD)))));
    }
    const untilMs = performance.now();
    const exchanges = await load.stop();
    expect(exchanges.filter(({ outcome }) => outcome !== 'complete')).toEqual([]);

    const p99Between = (fromMs: number, toMs: number) =>
      quantile(exchanges.filter((one) => one.startedAtMs >= fromMs && one.endedAtMs <= toMs).map(durationOf), 0.99);
    const base = p99Between(baseFromMs, burstsFromMs);
    const meanwhile = p99Between(burstsFromMs, untilMs);
    const servedMs = logins.filter(({ status }) => status === 200).map(({ ms }) => ms);
    const figures = {
      served: servedMs.length,
      refused: logins.filter(({ status }) => status === 429).length,
      p50: Math.round(quantile(servedMs, 0.5)),
      p99: Math.round(quantile(servedMs, 0.99)),
      inferenceBaseP99: Math.round(base),
      inferenceP99: Math.round(meanwhile),
    };
    report('40 logins at once', figures);
    expect(figures.served + figures.refused).toBe(AT_ONCE * BURSTS);
    expect(figures.refused).toBeLessThanOrEqual((AT_ONCE - ADMITTED) * BURSTS);
    expect(figures.p99).toBeLessThanOrEqual(1_500);
    expect(meanwhile).toBeLessThanOrEqual(1.5 * base);
  }, 120_000);

  it('takes the same time for an unknown e-mail and a wrong password, within a tenth (medians)', async () => {
    const wrong: number[] = [];
    const unknown: number[] = [];
    for (let round = 0; round < GUESSES_PER_USER; round++) {
      for (const email of emails) {
        const failed = await login(email, 'not the password');
        const unknownUser = await login(`${randomUUID()}@example.com`, 'not the password');
        expect([failed.status, unknownUser.status]).toEqual([401, 401]);
        wrong.push(failed.ms);
        unknown.push(unknownUser.ms);
      }
    }
    const medians = { wrong: quantile(wrong, 0.5), unknown: quantile(unknown, 0.5) };
    report('a login that fails', medians);
    expect(Math.abs(medians.wrong / medians.unknown - 1)).toBeLessThanOrEqual(0.1);
  }, 120_000);
});
