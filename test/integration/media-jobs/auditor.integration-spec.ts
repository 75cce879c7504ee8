import type { Pool } from 'pg';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';
import { type Account, createAccount } from '../billing/money-engine';
import { FAILED, finish, type JobEngine, startJobEngine, submit, SUCCEEDED, workOn } from './job-engine';

/** Corruptions as a faulty SQL function or a manual change in the database could cause them. */
const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  [
    'I7',
    'a job that was charged more than it held',
    `UPDATE ended_reservation SET charged_micro = amount_micro + 1 WHERE state = 'settled'`,
  ],
  [
    'I8',
    'a job that ended without its hold',
    `UPDATE media_job SET status = 'canceled', completed_at = now() WHERE status = 'queued'`,
  ],
  [
    'I8',
    'a hold that ended while its job is under way',
    `WITH ended AS (DELETE FROM hold RETURNING *)
     INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at,
                                    ended_at, is_job)
     SELECT id, organization_id, key_id, 'released', amount_micro, 0, created_at, now(), true FROM ended`,
  ],
  [
    'I8',
    'a success without a charge',
    `UPDATE ended_reservation SET state = 'released', charged_micro = NULL, entry_id = NULL, balance_after_micro = NULL
      WHERE state = 'settled'`,
  ],
  [
    'I8',
    'a failure that counts as a success',
    `UPDATE media_job SET status = 'succeeded', started_at = now(), error_code = NULL, error_message = NULL
      WHERE status = 'failed'`,
  ],
  [
    'I8',
    'a job whose cost differs from its receipt',
    `UPDATE media_job SET cost_micro = cost_micro - 1 WHERE status = 'succeeded'`,
  ],
  [
    'I8',
    'a job whose estimate differs from its hold',
    `UPDATE media_job SET estimated_cost_micro = estimated_cost_micro - 1 WHERE status = 'queued'`,
  ],
  ['I8', 'a job that vanished while its hold is there', `DELETE FROM media_job WHERE status = 'queued'`],
  ['I8', 'a job whose hold vanished', `DELETE FROM hold`],
  [
    'I8',
    'a job that was moved to another organization',
    `UPDATE media_job SET organization_id = gen_random_uuid() WHERE status = 'queued'`,
  ],
  ['I8', 'a hold that a process took over', `UPDATE hold SET owner = 'process'`],
  ['I10', 'an end without its delivery', `DELETE FROM webhook_delivery WHERE event = 'job.completed'`],
  [
    'I10',
    'a failure with a success event',
    `UPDATE webhook_delivery SET event = 'job.completed' WHERE event = 'job.failed'`,
  ],
  [
    'I10',
    'an end with two deliveries',
    `INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at)
     SELECT job_id, organization_id, 'job.failed', url, target_host, now(), now() FROM webhook_delivery WHERE event = 'job.completed'`,
  ],
  [
    'I10',
    'a job under way with a delivery',
    `INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at)
     SELECT id, organization_id, 'job.failed', '', '', now(), now() FROM media_job WHERE status = 'queued'`,
  ],
  [
    'I12',
    'a stored submission response with a charge',
    `UPDATE idempotency_record SET charged_micro = 1 WHERE reservation_id IN (SELECT id FROM media_job WHERE status = 'queued')`,
  ],
];

const FORBIDDEN: readonly (readonly [name: string, statement: string])[] = [
  [
    'a job that ends again',
    `UPDATE media_job SET status = 'canceled', error_code = NULL, error_message = NULL WHERE status = 'failed'`,
  ],
  [
    'a job that goes on after its end',
    `UPDATE media_job SET status = 'running', completed_at = NULL, cost_micro = 0 WHERE status = 'succeeded'`,
  ],
  ['an end that changes its cost', `UPDATE media_job SET cost_micro = cost_micro - 1 WHERE status = 'succeeded'`],
  ['a final state without its time', `UPDATE media_job SET status = 'canceled' WHERE status = 'queued'`],
  [
    'a failure without a reason',
    `UPDATE media_job SET status = 'failed', completed_at = now() WHERE status = 'queued'`,
  ],
  ['a changed estimate', `UPDATE media_job SET estimated_cost_micro = 1 WHERE status = 'queued'`],
  [
    'a job that moves to another organization',
    `UPDATE media_job SET organization_id = gen_random_uuid() WHERE status = 'queued'`,
  ],
  ['a changed webhook URL', `UPDATE media_job SET webhook_url = 'https://example.net' WHERE status = 'queued'`],
  ['a cost of a job under way', `UPDATE media_job SET cost_micro = 1 WHERE status = 'queued'`],
  ['progress above 100', `UPDATE media_job SET progress = 101 WHERE status = 'queued'`],
  ['a handle without a submission', `UPDATE media_job SET provider_handle = '{}' WHERE status = 'queued'`],
  [
    'an oversized handle',
    `UPDATE media_job SET submit_started_at = now(), provider_handle = jsonb_build_object('id', repeat('x', 5000)) WHERE status = 'queued'`,
  ],
  ['a lease owner without an end time', `UPDATE media_job SET lease_owner = 'me' WHERE status = 'queued'`],
  ['a lease on an ended job', `UPDATE media_job SET lease_owner = 'me', lease_until = now() WHERE status = 'failed'`],
  ['a job under way that is deleted', `UPDATE media_job SET deleted_at = now() WHERE status = 'queued'`],
  ['a job under way that is removed', `DELETE FROM media_job WHERE status = 'queued'`],
  ['a job that leaves its artifacts behind', `DELETE FROM media_job WHERE status = 'succeeded'`],
  [
    'two artifacts at one position',
    `INSERT INTO media_artifact (organization_id, job_id, position, type, content_type, size_bytes, duration_seconds, storage_key, created_at) SELECT organization_id, job_id, position, type, content_type, size_bytes, duration_seconds, storage_key, created_at FROM media_artifact`,
  ],
  [
    'an event with two deliveries',
    `INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at) SELECT job_id, organization_id, event, url, target_host, now(), now() FROM webhook_delivery`,
  ],
  ['a delivered delivery without an end time', `UPDATE webhook_delivery SET state = 'delivered'`],
  [
    'a charge above the hold of a job',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
                                    entry_id, created_at, ended_at, is_job)
     SELECT id, organization_id, key_id, 'settled', amount_micro, amount_micro + 1, 0, 1, created_at, now(), true FROM hold`,
  ],
  [
    'an uncollected part of a job',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
                                    created_at, ended_at, is_job)
     SELECT id, organization_id, key_id, 'settled', amount_micro, 0, 1, created_at, now(), true FROM hold`,
  ],
];

describe('job auditor', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let pool: Pool;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    pool = createTestPool(database.url, 1);
    account = await createAccount(pool);
    const hook = { webhookUrl: 'https://example.com/hook' };
    await submit(engine, account, hook);
    await finish(engine, await workOn(engine, await submit(engine, account, hook), 'finalizing'), SUCCEEDED);
    await finish(engine, await submit(engine, account, hook), FAILED);
    await finish(engine, await submit(engine, account, hook), { status: 'canceled' });
  });
  afterAll(async () => {
    await pool.end();
    await engine.close();
    await database.drop();
  });

  interface Row {
    readonly invariant: string;
  }
  function querySandbox<Result>(work: (query: (statement: string) => Promise<Row[]>) => Promise<Result>) {
    return inSandbox(pool, (client) => work(async (statement) => (await client.query<Row>(statement)).rows));
  }

  it('reports no violation for consistent data', async () => {
    expect(await engine.money.ledger.verify()).toEqual([]);
  });

  it.each(CORRUPTIONS)('invariant %s detects %s', async (invariant, _planted, statement) => {
    const seen = await querySandbox(async (query) => {
      await query('ALTER TABLE hold DISABLE TRIGGER USER');
      await query('ALTER TABLE ended_reservation DISABLE TRIGGER USER');
      await query('ALTER TABLE ended_reservation DROP CONSTRAINT ended_reservation_job_check');
      await query('ALTER TABLE media_job DISABLE TRIGGER USER');
      await query(statement);
      return query('SELECT invariant FROM money_violations');
    });
    expect(seen.map((row) => row.invariant.split(' ', 1)[0])).toContain(invariant);
  });

  it.each(FORBIDDEN)('a constraint rejects %s', async (_name, statement) => {
    await querySandbox(async (query) => {
      await expect(query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^23(503|514|505)$/) });
    });
  });

  it('reports no missing delivery for jobs past the log retention or deleted jobs', async () => {
    const seen = await querySandbox(async (query) => {
      await query('ALTER TABLE media_job DISABLE TRIGGER USER');
      await query(`UPDATE media_job SET completed_at = now() - interval '30 days' WHERE status = 'succeeded'`);
      await query(`UPDATE media_job SET deleted_at = now() WHERE status = 'failed'`);
      await query('DELETE FROM webhook_delivery');
      return query('SELECT invariant FROM money_violations');
    });
    expect(seen).toEqual([]);
  });

  it('rolls back the end of a job whose hold is missing', async () => {
    const job = await submit(engine, account);
    await querySandbox(async (query) => {
      await query(
        `SELECT money_finish(ARRAY['${job.id}'::uuid], ARRAY['${account.organizationId}'::uuid], '{released}', '{0}')`,
      );
      await expect(
        query(
          `SELECT media_job_finish('${job.id}', 'canceled', '{queued}', NULL, NULL, 0, NULL, NULL, '[]', NULL, '${job.organizationId}')`,
        ),
      ).rejects.toMatchObject({ code: '23514' });
    });
  });
});
