import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { Client as PgClient } from 'pg';
import { digestToken, generateToken } from '../../src/core/secrets/secret-token';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { FaultProxy } from '../harness/fault-proxy';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { paidSession, signEvent, type SignedEvent, StripeServer } from '../harness/stripe-server';
import { FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';

const TEN_DOLLARS = 10_000_000;
const REPLAYS = 50;
const BUYERS = FULL ? 200 : 40;
const COMMIT_LOCK = 7_001;

/** Blocks the commit of an event until the lock is free, to extend a window of about a millisecond. */
const WAIT_AT_COMMIT = `
  CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(${COMMIT_LOCK});
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON payment_event DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_at_commit();`;

describe('payments, received by two processes', () => {
  let database: TestDatabase;
  let stripe: StripeServer;
  let operator: Operator;
  let wire: FaultProxy;
  let gateways: readonly [GatewayProcess, GatewayProcess];
  let customer: Customer;

  beforeAll(async () => {
    database = await createTestDatabase();
    stripe = await StripeServer.start();
    operator = await Operator.connect(database.url);
    wire = await FaultProxy.start(database.url);
    const { url: redisUrl } = createTestRedis();
    const start = (databaseUrl: string): Promise<GatewayProcess> =>
      GatewayProcess.start({ databaseUrl, redisUrl, environment: stripe.environment });
    gateways = await Promise.all([start(wire.url), start(database.url)]);
  });
  beforeEach(async () => {
    customer = await operator.customer(1n);
  });
  afterAll(async () => {
    await endChildren();
    await wire.close();
    await operator.close();
    await stripe.stop();
    await database.drop();
  });

  /** An event that reports a new purchase of the customer as paid. */
  async function paidEvent(): Promise<SignedEvent> {
    const purchaseId = randomUUID();
    await operator.rows(
      `INSERT INTO purchase (id, organization_id, provider, amount_micro, created_at, expires_at)
       VALUES ($1, $2, 'stripe', $3, now(), now() + interval '1 hour')`,
      [purchaseId, customer.organizationId, TEN_DOLLARS],
    );
    const { organizationId } = customer;
    const session = paidSession({ purchaseId, organizationId, amountMicro: TEN_DOLLARS, sessionId: 'cs_test_1' });
    return signEvent('checkout.session.completed', session);
  }

  /** Retries like Stripe while the gateway is unreachable or unavailable. */
  async function deliverUntilTaken(gateway: GatewayProcess, event: SignedEvent): Promise<number> {
    for (;;) {
      const status = await deliver(gateway, event);
      if (status !== 503) return status;
    }
  }

  async function deliver({ url }: GatewayProcess, { body, headers }: SignedEvent): Promise<number> {
    const reply = await fetch(`${url}/dashboard/api/payments/stripe/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    await reply.text();
    return reply.status;
  }

  async function balance(): Promise<number> {
    const [account] = await operator.rows<{ balance: string }>(
      'SELECT balance_micro::text AS balance FROM organization_account WHERE organization_id = $1',
      [customer.organizationId],
    );
    return Number(account?.balance) - 1;
  }

  /** The cookie of a new admin of the customer. */
  async function signIn(): Promise<string> {
    const [userId, token] = [randomUUID(), generateToken()];
    await operator.rows(
      `INSERT INTO user_account (id, email, email_key, name, password_hash, email_verified_at)
       VALUES ($1::uuid, $1::text, $1::text, 'Admin', 'none', now())`,
      [userId],
    );
    await operator.rows(`INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'admin')`, [
      customer.organizationId,
      userId,
    ]);
    await operator.rows(
      `INSERT INTO user_session (id, user_id, digest, created_at, last_seen_at, expires_at)
       VALUES (gen_random_uuid(), $1, $2, now(), now(), now() + interval '1 hour')`,
      [userId, digestToken(token)],
    );
    return `sid=${token}`;
  }

  /** Makes one purchase, retried with the same key while a busy machine refuses it. */
  async function buy({ url }: GatewayProcess, cookie: string): Promise<number> {
    const headers = {
      cookie,
      'content-type': 'application/json',
      'x-requested-with': 'test',
      'idempotency-key': randomUUID(),
    };
    const body = JSON.stringify({ amount_micro: TEN_DOLLARS });
    for (;;) {
      const path = `/dashboard/api/organizations/${customer.organizationId}/billing/purchases`;
      const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body });
      await reply.text();
      if (reply.status !== 503) return reply.status;
    }
  }

  it(`are credited once when their event arrives ${REPLAYS} times at once`, async () => {
    const event = await paidEvent();
    const statuses = await Promise.all(
      Array.from({ length: REPLAYS }, (_, index) => deliverUntilTaken(gateways[index % 2] as GatewayProcess, event)),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await operator.violations()).toEqual([]);
  });

  it(`are accepted up to exactly the limit for ${BUYERS} concurrent buyers`, async () => {
    await operator.rows('INSERT INTO billing_settings (organization_id, purchase_limit_day_micro) VALUES ($1, $2)', [
      customer.organizationId,
      13 * TEN_DOLLARS,
    ]);
    const cookie = await signIn();
    const startedAtMs = performance.now();
    const statuses = await Promise.all(
      Array.from({ length: BUYERS }, (_, index) => buy(gateways[index % 2] as GatewayProcess, cookie)),
    );
    report('purchases', { buyers: BUYERS, ms: Math.round(performance.now() - startedAtMs) });
    const count = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    expect({ bought: count(201), refused: count(402) }).toEqual({ bought: 13, refused: BUYERS - 13 });
  });

  it('are credited once when the process dies between the commit and its response, and the event is delivered again', async () => {
    const event = await paidEvent();
    const gate: Client = new PgClient({ connectionString: database.url });
    await gate.connect();
    await gate.query(WAIT_AT_COMMIT);
    await gate.query('SELECT pg_advisory_lock($1)', [COMMIT_LOCK]);
    const [dying, living] = gateways;
    const answer = deliver(dying, event).catch(() => 0);
    await until('the commit', 10_000, async () => {
      const waiting = await operator.rows(
        `SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'`,
      );
      return waiting.length === 1;
    });
    // The commit succeeds without an acknowledgement.
    wire.fail('toClient', { hang: true });
    await gate.query('SELECT pg_advisory_unlock($1)', [COMMIT_LOCK]);
    await until('the credit', 10_000, async () => (await balance()) === TEN_DOLLARS);
    await dying.kill();
    expect(await answer).toBe(0);
    expect(await deliverUntilTaken(living, event)).toBe(200);
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await operator.violations()).toEqual([]);
    await gate.end();
  });
});
