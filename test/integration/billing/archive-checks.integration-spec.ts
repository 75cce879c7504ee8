import type { Pool, PoolClient } from 'pg';
import { readViolations } from '../../../src/billing/ledger/ledger-checks';
import type { ObjectStorage } from '../../../src/core/storage/object-storage';
import { inSandbox } from '../../harness/database';
import { S3Server } from '../../harness/s3-server';
import {
  type ArchiveStage,
  dayBefore,
  INSERT_ALONE,
  openBucket,
  readDayStates,
  RETENTION_DAYS,
  startArchiveStage,
} from './archive-stage';
import { chooseRows, CORRUPTIONS, FORBIDDEN, named, type Rows, UNLOCKED } from './closing-corruptions';

/** In the archived day `:archived`, unless they say otherwise. */
const ARCHIVE_CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  ...['object_key = object_key || 0', 'size_bytes = size_bytes + 1', `content_digest = '\\x00'`].map(
    (change) => ['I22', `an archive with other ${change.split(' ', 1)[0]}`, change] as const,
  ),
  ...['reservation_count', 'charge_count', 'charged_micro', 'uncollected_micro', 'checksum', 'last_entry_id'].map(
    (column) => ['I22', `an archive with another ${column}`, `${column} = ${column} + 1`] as const,
  ),
  ['I22', 'an archive with another time', `exported_at = now()`],
].map(
  ([invariant, planted, change]) =>
    [invariant, planted, `UPDATE ledger_archive SET ${change} WHERE day = ':archived'`] as [string, string, string],
);

const DAY_CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  ...ARCHIVE_CORRUPTIONS,
  [
    'I22',
    'an archive whose sums were changed and sealed again',
    `UPDATE ledger_archive SET charged_micro = charged_micro + 1 WHERE day = ':archived';
     UPDATE ledger_archive a SET digest = ledger_archive_digest(a) WHERE day = ':archived'`,
  ],
  ['I22', 'the row of an archived day deleted', `DELETE FROM ledger_archive WHERE day = ':archived'`],
  [
    'I22',
    'an archived day that is only claimed',
    `UPDATE ledger_archive SET object_key = NULL, size_bytes = NULL,
     content_digest = NULL, reservation_count = NULL, charge_count = NULL, charged_micro = NULL, uncollected_micro = NULL,
     checksum = NULL, last_entry_id = NULL, exported_at = NULL, digest = NULL, removed_at = NULL
     WHERE day = ':archived'`,
  ],
  ['I22', 'a closing changed', `UPDATE ledger_closing SET checksum = checksum + 1 WHERE day = ':archived'`],
  [
    'I22',
    'a count of a closing changed',
    `UPDATE ledger_closing SET reservation_count = reservation_count + 1 WHERE day = ':archived'`,
  ],
  [
    'I1',
    'a charge of a closing changed',
    `UPDATE ledger_closing SET charged_micro = charged_micro + 1 WHERE day = ':archived'`,
  ],
  ['I1', 'the closings deleted', `DELETE FROM ledger_closing WHERE day = ':archived'`],
  ['I22', 'the closings deleted', `DELETE FROM ledger_closing WHERE day = ':archived'`],
  [
    'I22',
    'a closed window changed',
    `UPDATE ledger_closing_window SET spent_micro = spent_micro + 1 WHERE closed_day = ':archived'`,
  ],
  [
    'I6',
    'spending added to a window',
    `UPDATE spend_window SET spent_micro = spent_micro + 1 WHERE scope = 2 AND window_start = ':archived'`,
  ],
  ['I6', 'a window deleted', `DELETE FROM spend_window WHERE scope = 2 AND window_start = ':archived'`],
  ['I22', 'the day opened again', `DELETE FROM ledger_day WHERE day = ':archived'`],
  [
    'I22',
    'a request that is there again',
    `CREATE TABLE again PARTITION OF ended_reservation FOR VALUES FROM (MINVALUE) TO (':first');
     INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at,
                                    ended_at, is_job)
     VALUES (first_id_of(':archived'), ':organization', ':key', 'released', 5, 0, ':archived', ':archived', false)`,
  ],
];

const ARCHIVE_FORBIDDEN: readonly (readonly [name: string, statement: string])[] = [
  ['an archive changed', `UPDATE ledger_archive SET object_key = 'other'`],
  ['an archive removed twice', `UPDATE ledger_archive SET removed_at = now()`],
  ['an archive deleted', `DELETE FROM ledger_archive`],
  ['the archives emptied', `TRUNCATE ledger_archive`],
];

describe('the audit of books with archived days', () => {
  let server: S3Server;
  let bucket: ObjectStorage;
  let stage: ArchiveStage;
  let pool: Pool;
  let rows: Rows & { readonly archived: string; readonly first: string };

  beforeAll(async () => {
    server = await S3Server.start();
    bucket = await openBucket(server);
    stage = await startArchiveStage(bucket);
    ({ pool } = stage);
    const days = await readDayStates(pool);
    await stage.process().archive();
    rows = { ...(await chooseRows(pool, 20, 3)), archived: days[1]?.day ?? '', first: await firstIdOf(RETENTION_DAYS) };
  });
  afterAll(async () => {
    await stage.close();
    bucket.close();
    await server.stop();
  });

  async function firstIdOf(days: number): Promise<string> {
    const found = await pool.query<{ id: string }>('SELECT first_id_of($1) AS id', [await dayBefore(pool, days)]);
    return found.rows[0]?.id ?? '';
  }

  async function invariantsBrokenBy(statement: string): Promise<string[]> {
    return inSandbox(pool, async (client: PoolClient) => {
      await client.query([...UNLOCKED, 'ALTER TABLE ledger_archive DISABLE TRIGGER USER'].join(';'));
      await client.query(named(statement, rows));
      const found = [
        await readViolations(client, { view: 'money_violations' }, null),
        await readViolations(client, { view: 'closed_day_violations', day: rows.archived }, null),
        await readViolations(client, { view: 'closed_day_violations', day: rows.day }, null),
        await readViolations(client, { view: 'balance_violations', day: rows.opened }, null),
      ];
      return found.flat().map((violation) => violation.invariant.split(' ', 1)[0] ?? '');
    });
  }

  it('finds nothing in books that are sound', async () => {
    expect(await invariantsBrokenBy('SELECT 1')).toEqual([]);
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it.each(CORRUPTIONS)('%s still reports %s', async (invariant, _planted, statement) => {
    expect(await invariantsBrokenBy(statement)).toContain(invariant);
  });

  it.each(DAY_CORRUPTIONS)('%s reports, in an archived day, %s', async (invariant, _planted, statement) => {
    expect(await invariantsBrokenBy(statement)).toContain(invariant);
  });

  it('I22 reports a partition that is gone without an archive', async () => {
    const reported = await inSandbox(pool, async (client) => {
      await client.query(`DROP TABLE ended_reservation_${rows.day.replaceAll('-', '')}`);
      const found = await readViolations(client, { view: 'closed_day_violations', day: rows.day }, null);
      return found.map(({ invariant, subject }) => `${invariant.slice(0, 3)} ${subject.slice(0, 10)}`);
    });
    expect(reported).toContain(`I22 ${rows.day}`);
  });

  it.each([...FORBIDDEN, ...ARCHIVE_FORBIDDEN])('the database refuses %s', async (_name, statement) => {
    await inSandbox(pool, async (client) => {
      await expect(client.query(named(statement, rows))).rejects.toMatchObject({ code: '23514' });
    });
  });

  it.each([
    ['a job', INSERT_ALONE.job],
    ['a receipt', INSERT_ALONE.receipt],
    [
      'a stored response',
      (day: string) =>
        `INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, at_most_once, created_at,
                                         state, status, headers, charged_micro, body_stored, completed_at, expires_at)
         VALUES (':organization', 'createChatCompletion', 'k', sha256('x'), first_id_of('${day}'), false, '${day}', 'completed', 200,
                 '{}', 9, false, '${day}', '${day}')`,
    ],
  ])('accepts %s that outlasts the requests of its day', async (_name, insert) => {
    const reported = await inSandbox(pool, async (client) => {
      await client.query('SET LOCAL gateway.counts_receipts = on');
      await client.query(named(insert(rows.archived), rows));
      const found = [
        await readViolations(client, { view: 'money_violations' }, null),
        await readViolations(client, { view: 'record_violations' }, null),
        await readViolations(client, { view: 'closed_day_violations', day: rows.archived }, null),
      ];
      return found.flat().map(({ invariant }) => invariant.slice(0, 3));
    });
    expect(reported.filter((invariant) => ['I8 ', 'I12', 'I16'].includes(invariant))).toEqual([]);
  });

  it('accepts the balance of an account whose latest charge is archived', async () => {
    const { rows: accounts } = await pool.query<{ id: string }>(
      `SELECT organization_id AS id FROM ledger_closing c WHERE day = $1`,
      [rows.archived],
    );
    expect(accounts.length).toBeGreaterThan(0);
    const reported = await inSandbox(pool, async (client) => {
      await client.query(UNLOCKED.join(';'));
      // As if it had made no request since: its balance and closings are those of that time.
      await client.query(`DELETE FROM ended_reservation WHERE organization_id = $1`, [accounts[0]?.id]);
      const found = await readViolations(client, { view: 'money_violations' }, null);
      return found.map(({ invariant, subject }) => [invariant.slice(0, 3), subject]);
    });
    expect(reported.filter(([invariant]) => invariant === 'I21')).toEqual([]);
  });
});
