import type { Pool } from 'pg';
import { readViolations } from '../../../src/billing/ledger/ledger-checks';
import { recordValues } from '../../../src/billing/ledger/money-statements';
import { DEFAULT_IDEMPOTENCY_OPTIONS, ResponseStore } from '../../../src/auth/idempotency/response-store';
import { IdempotencySweeperService } from '../../../src/auth/idempotency/idempotency-sweeper.service';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';
import { claimOf, COMPLETION, completing, keyedCommand } from '../idempotency/keyed-commands';
import { finish, type JobEngine, startJobEngine, submit, SUCCEEDED, workOn } from '../media-jobs/job-engine';
import {
  type Account,
  createAccount,
  exampleRecord,
  releaseCommand,
  reserveCommand,
  settleCommand,
} from './money-engine';

/** The rows that statements name as `:first`, `:second` and so on. */
type Rows = Readonly<
  Record<'organization' | 'other' | 'first' | 'second' | 'poor' | 'held' | 'answer' | 'twin' | 'job', string>
>;

/** Corruptions such as those of a bug, a manual repair or a damaged copy. */
const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  [
    'I1',
    'a balance changed',
    `UPDATE organization_account SET balance_micro = balance_micro + 1 WHERE organization_id = ':organization'`,
  ],
  ['I1', 'a top-up deleted', `DELETE FROM ledger_posting WHERE kind = 'topup' AND organization_id = ':organization'`],
  [
    'I2',
    'a leaked hold',
    `UPDATE organization_account SET reserved_micro = reserved_micro + 1 WHERE organization_id = ':organization'`,
  ],
  ['I1', 'a charge changed', `UPDATE ended_reservation SET charged_micro = 1 WHERE id = ':first'`],
  [
    'I1',
    'a charge of another organization',
    `UPDATE ended_reservation SET organization_id = ':other' WHERE id = ':first'`,
  ],
  ['I16', 'a receipt without its charge', `DELETE FROM ended_reservation WHERE id = ':first'`],
  ['I6', 'a window changed', `UPDATE spend_window SET spent_micro = spent_micro + 1 WHERE scope_id = ':organization'`],
  ['I8', 'a job with another cost', `UPDATE media_job SET cost_micro = cost_micro - 1 WHERE id = ':job'`],
  ['I10', 'a webhook deleted', `DELETE FROM webhook_delivery WHERE job_id = ':job'`],
  [
    'I12',
    'a key with another charge',
    `UPDATE idempotency_record SET charged_micro = 1 WHERE reservation_id = ':answer'`,
  ],
  [
    'I9',
    'an orphaned hold while no gateway runs',
    `WITH gone AS (DELETE FROM gateway_instance)
     UPDATE hold SET created_at = now() - interval '1 hour' WHERE id = ':held'`,
  ],
  ['I16', 'a receipt deleted', `DELETE FROM usage_record WHERE id = ':first'`],
  ['I16', 'the receipt of a job deleted', `DELETE FROM usage_record WHERE id = ':job'`],
  [
    'I16',
    'a receipt with another charge',
    `UPDATE usage_record SET charged_micro = charged_micro + 1 WHERE id = ':first'`,
  ],
  ['I16', 'a receipt with less uncollected', `UPDATE usage_record SET uncollected_micro = 0 WHERE id = ':poor'`],
  [
    'I16',
    'a reservation with less uncollected',
    `UPDATE ended_reservation SET uncollected_micro = 0 WHERE id = ':poor'`,
  ],
  [
    'I16',
    'a receipt given to another organization',
    `UPDATE usage_record SET organization_id = ':other' WHERE id = ':first'`,
  ],
  ['I16', 'a receipt of another key', `UPDATE usage_record SET key_id = gen_random_uuid() WHERE id = ':first'`],
  [
    'I16',
    'a receipt of no request',
    `INSERT INTO usage_record SELECT (jsonb_populate_record(u, jsonb_build_object('id', gen_random_uuid()))).*
       FROM usage_record u WHERE id = ':first'`,
  ],
  ['I17', 'a receipt with other tokens', `UPDATE usage_record SET output_text = output_text + 1 WHERE id = ':first'`],
  ['I17', 'a receipt of another model', `UPDATE usage_record SET model = 'mock/chat-2' WHERE id = ':first'`],
  [
    'I17',
    'a receipt of another price',
    `UPDATE usage_record SET price_version_uuid = organization_id WHERE id = ':first'`,
  ],
  ['I17', 'a receipt of two prices', `UPDATE usage_record SET price_version_id = 'cheap' WHERE id = ':first'`],
  [
    'I17',
    'a receipt of another time',
    `UPDATE usage_record SET created_at = created_at - interval '1 day' WHERE id = ':first'`,
  ],
  ['I17', 'a receipt with other seconds', `UPDATE usage_record SET seconds = 1.4999999999999998 WHERE id = ':first'`],
  [
    'I17',
    'two receipts of one charge swapped',
    `UPDATE usage_record u SET id = CASE id WHEN ':first' THEN ':second'::uuid ELSE ':first'::uuid END
      WHERE id IN (':first', ':second')`,
  ],
  ['I17', 'a receipt whose digest is gone', `UPDATE usage_record SET digest = NULL, model = 'x' WHERE id = ':first'`],
  ['I17', 'a history that expects no receipts', `UPDATE receipt_history SET kept_since = now() + interval '1 year'`],
  ['I18', 'a total by model changed', `UPDATE usage_by_model SET requests = requests + 1 WHERE span = 'hour'`],
  ['I18', 'a day by model changed', `UPDATE usage_by_model SET charged_micro = charged_micro + 1 WHERE span = 'day'`],
  [
    'I18',
    'latencies of a total lost',
    `UPDATE usage_by_model SET latency = NULL WHERE latency IS NOT NULL AND span = 'hour'`,
  ],
  ['I18', 'latencies of a day changed', `UPDATE usage_by_model SET latency[1] = latency[1] + 256 WHERE span = 'day'`],
  ['I18', 'latencies of a delta changed', `UPDATE usage_delta SET latency = latency || 257::bigint`],
  ['I18', 'a total by key changed', `UPDATE usage_by_key SET output_tokens = output_tokens - 1 WHERE span = 'hour'`],
  ['I18', 'totals by key deleted', `DELETE FROM usage_by_key`],
  ['I18', 'minutes of a total changed', `UPDATE usage_by_model SET minutes = ~minutes WHERE span = 'hour'`],
  ['I18', 'a total of nothing', `UPDATE usage_by_key SET outcome = outcome || '?'`],
  ['I18', 'a delta lost before it was folded', `DELETE FROM usage_delta`],
  ['I19', 'a stored body changed', `UPDATE idempotency_body SET head = head || 'x' WHERE reservation_id = ':answer'`],
  [
    'I19',
    'the end of a stored body changed',
    `UPDATE idempotency_body SET tail = 'x' WHERE reservation_id = ':answer'`,
  ],
  ['I19', 'a stored body deleted', `DELETE FROM idempotency_body WHERE reservation_id = ':answer'`],
  [
    'I19',
    'the answer to a submission changed',
    `UPDATE idempotency_body SET head = '{}' WHERE reservation_id = ':job'`,
  ],
  ['I19', 'a key deleted before its time', `DELETE FROM idempotency_record WHERE reservation_id = ':answer'`],
  ['I19', 'a stored status changed', `UPDATE idempotency_record SET status = 201 WHERE reservation_id = ':answer'`],
  ['I19', 'stored headers changed', `UPDATE idempotency_record SET headers = '{}' WHERE reservation_id = ':answer'`],
  [
    'I19',
    'a key of another body',
    `UPDATE idempotency_record SET fingerprint = sha256('x') WHERE reservation_id = ':answer'`,
  ],
  [
    'I19',
    'two stored bodies swapped',
    `UPDATE idempotency_body b SET head = o.head FROM idempotency_body o
      WHERE b.reservation_id IN (':answer', ':twin') AND o.reservation_id IN (':answer', ':twin')
        AND o.reservation_id <> b.reservation_id`,
  ],
  ['I20', 'a counter of storage changed', `UPDATE idempotency_storage SET stored_bytes = stored_bytes + 1`],
];

const UNLOCKED = `
  ALTER TABLE hold DISABLE TRIGGER USER;
  ALTER TABLE ended_reservation DISABLE TRIGGER USER;
  ALTER TABLE ledger_posting DISABLE TRIGGER USER;
  ALTER TABLE media_job DISABLE TRIGGER USER;
  SET LOCAL gateway.counts_receipts = on;
  -- Two ids can only be exchanged in one statement without its index.
  ALTER TABLE usage_record DROP CONSTRAINT usage_record_pkey`;

describe('the verification of the ledger', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let pool: Pool;
  let account: Account;
  let rows: Rows;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    pool = createTestPool(database.url, 1);
    rows = await createActivity();
  });
  afterAll(async () => {
    await pool.end();
    await engine.close();
    await database.drop();
  });

  /** One request of each kind, created by the real money functions. */
  async function createActivity(): Promise<Rows> {
    const { reservations, lease } = engine.money;
    await lease.renew();
    account = await createAccount(pool);
    const [other, poor] = [await createAccount(pool), await createAccount(pool, { balanceMicro: 100n })];
    const held = reserveCommand(account, 10n);
    await reservations.reserve(held);
    const first = await request(account, 70n, { usage: { ...NO_USAGE, inputText: 9, outputText: 1, seconds: 1.5 } });
    const answer = await keyedRequest('a', '{"text":"a"');
    const twin = await keyedRequest('b', '{"text":"b"');
    const submitted = await submit(engine, account, { webhookUrl: 'https://example.com/hook' });
    const job = await finish(engine, await workOn(engine, submitted, 'finalizing'), SUCCEEDED);
    const released = reserveCommand(account, 5n);
    await reservations.reserve(released);
    const { record } = settleCommand(released, 0n, { status: 502, errorCode: 'provider_error' });
    await reservations.finish({ ...releaseCommand(released), record });
    await pool.query('SELECT usage_roll(1000)');
    // Not folded yet.
    const second = await request(account, 70n, { usage: { ...NO_USAGE, inputText: 1, outputText: 9, seconds: 1.5 } });
    const uncollected = await request(poor, 500n);
    return {
      organization: account.organizationId,
      other: other.organizationId,
      first,
      second,
      poor: uncollected,
      held: held.reservationId,
      answer,
      twin,
      job: String(job?.id),
    };
  }

  async function request(of: Account, actualMicro: bigint, record = {}): Promise<string> {
    const command = reserveCommand(of, 100n);
    await engine.money.reservations.reserve(command);
    await engine.money.reservations.finish(settleCommand(command, actualMicro, record));
    return command.reservationId;
  }

  async function keyedRequest(key: string, head: string): Promise<string> {
    const store = new ResponseStore(engine.dataSource, DEFAULT_IDEMPOTENCY_OPTIONS);
    const command = keyedCommand(account, 100n, claimOf(key));
    await engine.money.reservations.reserve(command);
    const bodyStored = await store.keep(command.reservationId, account.organizationId, head, '}');
    const settled = settleCommand(command, 42n, {});
    await engine.money.reservations.finish(completing(settled, { ...COMPLETION, bodyStored }));
    return command.reservationId;
  }

  it('reports no violations in an unmodified ledger', async () => {
    expect(await engine.money.ledger.verify()).toEqual([]);
  });

  it.each(CORRUPTIONS)('%s reports %s', async (invariant, _planted, statement) => {
    const reported = await inSandbox(pool, async (client) => {
      await client.query(UNLOCKED);
      const planted = statement.replaceAll(/:([a-z]+)'/g, (_text, name: keyof Rows) => `${rows[name]}'`);
      expect((await client.query(planted)).rowCount).toBeGreaterThan(0);
      const views = [
        await readViolations(client, { view: 'money_violations' }, null),
        await readViolations(client, { view: 'record_violations' }, null),
      ];
      return views.flat().map((violation) => violation.invariant.split(' ', 1)[0]);
    });
    expect(reported).toContain(invariant);
  });

  /** A past request with an idempotency key, as the money functions would have written it then. */
  async function requestOfThePast(of: Account, age: string): Promise<string> {
    const { rows: ids } = await pool.query<{ id: string }>(
      `SELECT overlay(gen_random_uuid()::text PLACING left(first_id_of((now() - $1::interval)::date)::text, 13) FROM 1) AS id`,
      [age],
    );
    const id = String(ids[0]?.id);
    await pool.query(
      `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{600}', 'past',
                            clock_timestamp() - $4::interval, jsonb_build_array($5::jsonb))`,
      [id, of.organizationId, of.keyId, age, JSON.stringify(['createImage', id, 'ab'.repeat(32), false])],
    );
    await pool.query(
      `SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{settled}', '{7}', jsonb_build_array($4::jsonb),
                           clock_timestamp() - $3::interval, '[[200, "text/plain", {}, false]]')`,
      [id, of.organizationId, age, recordValues(exampleRecord(id, of))],
    );
    return id;
  }

  it('reports rows deleted manually, but not those deleted by retention', async () => {
    const past = await createAccount(pool);
    const old = await requestOfThePast(past, '500 days');
    const recent = await requestOfThePast(past, '300 days');
    expect(await engine.money.ledger.verify()).toEqual([]);

    await pool.query(`SELECT usage_prune(clock_timestamp() - interval '400 days', 10)`);
    await new IdempotencySweeperService(engine.dataSource).sweep();
    expect((await pool.query('SELECT FROM usage_record WHERE id = $1', [old])).rows).toEqual([]);
    expect((await pool.query('SELECT FROM idempotency_seal WHERE reservation_id = $1', [old])).rows).toEqual([]);
    expect(await engine.money.ledger.verify()).toEqual([]);

    await pool.query('DELETE FROM usage_record WHERE id = $1', [recent]);
    expect(await engine.money.ledger.verify()).toContainEqual({
      invariant: 'I16 a charge has a matching receipt',
      subject: recent,
      differenceMicro: -7n,
    });
  });
});
