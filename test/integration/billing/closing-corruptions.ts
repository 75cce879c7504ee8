import type { Pool } from 'pg';
import { createAccount } from './money-engine';

/** The rows that statements name as `:closed`, `:open` and so on. */
export type Rows = Readonly<
  Record<'closed' | 'day' | 'month' | 'organization' | 'key' | 'open' | 'opened' | 'other' | 'owned', string>
>;

/**
 * A charge of a closed day and one of an open day, by the days since, and an account that has neither.
 * @param closedDays, openDays before today by the database's clock
 */
export async function chooseRows(pool: Pool, closedDays: number, openDays: number): Promise<Rows> {
  const request = async (days: number) => {
    const { rows: found } = await pool.query(
      `SELECT r.id, r.organization_id, r.key_id, r.day::text, r.month::text
         FROM reservation r JOIN ledger_entry l ON l.reservation_id = r.id
        WHERE r.day = (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer AND r.charged_micro > 1 LIMIT 1`,
      [days],
    );
    return found[0];
  };
  const [closed, open, other] = [await request(closedDays), await request(openDays), await createAccount(pool)];
  return {
    closed: closed.id,
    day: closed.day,
    month: closed.month,
    organization: closed.organization_id,
    key: closed.key_id,
    open: open.id,
    opened: open.day,
    other: other.organizationId,
    owned: other.keyId,
  };
}

/** A statement with the rows that it names. */
export function named<Name extends string>(statement: string, rows: Readonly<Record<Name, string>>): string {
  return statement.replaceAll(/:([a-z]+)(?=['}])/g, (_text, name: Name) => rows[name]);
}

/** Corruptions such as those of a bug, a manual repair or a damaged copy. `:closed` is a request of a closed day. */
export const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  [
    'I4',
    'a charge of a closed day without its entry',
    `UPDATE ended_reservation SET entry_id = NULL, balance_after_micro = NULL WHERE id = ':closed'`,
  ],
  [
    'I4',
    'a charge of a closed day that was not settled',
    `UPDATE ended_reservation SET state = 'released' WHERE id = ':closed'`,
  ],
  [
    'I5',
    'a request of a closed day that is held again',
    `INSERT INTO hold (organization_id, id, key_id, amount_micro, created_at, expires_at, keyed, owner)
     SELECT organization_id, id, key_id, amount_micro, created_at, now(), false, 'late'
       FROM ended_reservation WHERE id = ':closed'`,
  ],
  [
    'I7',
    'a job of a closed day charged more than it held',
    `UPDATE ended_reservation SET is_job = true, amount_micro = charged_micro - 1 WHERE id = ':closed'`,
  ],
  [
    'I8',
    'a job of a closed day without its hold',
    `INSERT INTO media_job (id, organization_id, key_id, kind, model, estimated_cost_micro, max_cost_micro, params,
                            settings, route, metadata, next_run_at, created_at, expires_at)
     VALUES (':closed', ':organization', ':key', 'video', 'm', 9, 9, '{}', '{}', '{}', '{}', now(), now(), now())`,
  ],
  ['I22', 'a request of a closed day deleted', `DELETE FROM ended_reservation WHERE id = ':closed'`],
  [
    'I22',
    'a request added to a closed day',
    `INSERT INTO ended_reservation
     SELECT (jsonb_populate_record(r, jsonb_build_object('id', first_id_of(':day')))).*
       FROM ended_reservation r
      WHERE state = 'released' AND id BETWEEN first_id_of(':day') AND last_id_of(':day') LIMIT 1`,
  ],
  [
    'I22',
    'a charge added to a closed day',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
                                    entry_id, created_at, ended_at, is_job)
     VALUES (first_id_of(':day'), ':organization', ':key', 'settled', 5, 5, 0, 1, ':day', ':day', false)`,
  ],
  [
    'I22',
    'a charge of a closed day raised',
    `UPDATE ended_reservation SET charged_micro = charged_micro + 1 WHERE id = ':closed'`,
  ],
  ['I22', 'a time of a closed day changed', `UPDATE ended_reservation SET ended_at = now() WHERE id = ':closed'`],
  [
    'I22',
    'a request of a closed day with another key',
    `UPDATE ended_reservation SET key_id = ':other' WHERE id = ':closed'`,
  ],
  [
    'I22',
    'a hold of a closed day that ended otherwise',
    `UPDATE ended_reservation SET state = 'expired'
      WHERE id BETWEEN first_id_of(':day') AND last_id_of(':day') AND state = 'released'`,
  ],
  [
    'I22',
    'an uncollected amount of a closed day changed',
    `UPDATE ended_reservation SET uncollected_micro = 1 WHERE id = ':closed'`,
  ],
  ['I22', 'a checksum changed', `UPDATE ledger_closing SET checksum = checksum + 1 WHERE day = ':day'`],
  [
    'I22',
    'a count of a closing changed',
    `UPDATE ledger_closing SET reservation_count = reservation_count + 1 WHERE day = ':day'`,
  ],
  [
    'I22',
    'a closed window changed',
    `UPDATE ledger_closing_window SET spent_micro = spent_micro + 1 WHERE closed_day = ':day'`,
  ],
  [
    'I2',
    'a hold in a closed day',
    `INSERT INTO hold (organization_id, id, key_id, amount_micro, created_at, expires_at, keyed, owner)
     VALUES (':organization', last_id_of(':day'), ':key', 5, ':day', now(), false, 'late')`,
  ],
  [
    'I1',
    'a sum of a closing changed',
    `UPDATE ledger_closing SET charged_micro = charged_micro + 1 WHERE day = ':day'`,
  ],
  ['I1', 'a closing deleted', `DELETE FROM ledger_closing WHERE day = ':day' AND organization_id = ':organization'`],
  ['I1', 'a closed day opened again', `DELETE FROM ledger_day WHERE day = ':day'`],
  [
    'I6',
    'spending added to a window of a closed day',
    `UPDATE spend_window SET spent_micro = spent_micro + 1 WHERE scope = 2 AND window_start = ':day'`,
  ],
  [
    'I6',
    'a hold in a window of a closed day',
    `UPDATE spend_window SET reserved_micro = 1 WHERE scope = 2 AND window_start = ':day'`,
  ],
  ['I6', 'a window of a closed day deleted', `DELETE FROM spend_window WHERE scope = 2 AND window_start = ':day'`],
  [
    'I6',
    'a window of nothing in a closed day',
    `INSERT INTO spend_window (organization_id, scope, scope_id, window_start, spent_micro)
     VALUES (':organization', 2, ':other', ':day', 1)`,
  ],
  [
    'I21',
    'a balance of an entry of a closed day changed',
    `UPDATE ended_reservation SET balance_after_micro = balance_after_micro + 1 WHERE id = ':closed'`,
  ],
  [
    'I21',
    'a balance of an entry of a closed day removed',
    `UPDATE ended_reservation SET balance_after_micro = NULL WHERE id = ':closed'`,
  ],
  ['I1', 'a balance changed', `UPDATE organization_account SET balance_micro = balance_micro + 1`],
  [
    'I4',
    'a charge of an open day without its entry',
    `UPDATE ended_reservation SET entry_id = NULL WHERE id = ':open'`,
  ],
  ['I1', 'a charge of an open day deleted', `DELETE FROM ended_reservation WHERE id = ':open'`],
  ['I1', 'a posting deleted', `DELETE FROM ledger_posting WHERE organization_id = ':organization'`],
  [
    'I6',
    'a window of an open day changed',
    `UPDATE spend_window SET spent_micro = spent_micro + 1 WHERE scope = 2 AND window_start = ':opened'`,
  ],
  [
    'I6',
    'a window of this month changed',
    `UPDATE spend_window SET spent_micro = spent_micro + 1
      WHERE scope = 1 AND window_start = date_trunc('month', ':opened'::date)`,
  ],
  [
    'I21',
    'a balance of an entry of an open day changed',
    `UPDATE ended_reservation SET balance_after_micro = balance_after_micro + 1 WHERE id = ':open'`,
  ],
  [
    'I21',
    'the balance of the latest entry changed',
    `UPDATE ended_reservation SET balance_after_micro = balance_after_micro + 1
      WHERE entry_id IN (SELECT max(id) FROM ledger_entry GROUP BY organization_id)`,
  ],
];

export const FORBIDDEN: readonly (readonly [name: string, statement: string])[] = [
  [
    'a hold in a closed day',
    `SELECT money_reserve(ARRAY[first_id_of(':day')], '{:other}', '{:owned}', '{1}', '{60}', 'late')`,
  ],
  ['a void of an id of a closed day', `SELECT money_void(ARRAY[first_id_of(':day')], '{:other}', '{:owned}', 'late')`],
  [
    'a charge in a closed day',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
                                    entry_id, created_at, ended_at, is_job)
     VALUES (first_id_of(':day'), ':organization', ':key', 'settled', 5, 5, 0, 1, ':day', now(), false)`,
  ],
  ['a request of a closed day changed', `UPDATE ended_reservation SET ended_at = now() WHERE id = ':closed'`],
  ['a request of a closed day deleted', `DELETE FROM ended_reservation WHERE id = ':closed'`],
  ['all requests emptied', `TRUNCATE ended_reservation`],
  ['a closing changed', `UPDATE ledger_closing SET charged_micro = 0`],
  ['a closing deleted', `DELETE FROM ledger_closing`],
  ['the closings emptied', `TRUNCATE ledger_closing`],
  ['a closed window changed', `UPDATE ledger_closing_window SET spent_micro = 0`],
  ['a closed day opened again', `DELETE FROM ledger_day`],
];

/** Disables what refuses the corruptions. */
export const UNLOCKED = [
  'hold',
  'ended_reservation',
  'ledger_posting',
  'ledger_day',
  'ledger_closing',
  'ledger_closing_window',
  'media_job',
]
  .map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
  .concat(
    ['charge', 'uncollected', 'entry', 'job'].map(
      (rule) => `ALTER TABLE ended_reservation DROP CONSTRAINT ended_reservation_${rule}_check`,
    ),
  );
