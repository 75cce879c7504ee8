/** The rows that statements name as `:closed`, `:open` and so on. */
export type Rows = Readonly<
  Record<'closed' | 'day' | 'month' | 'organization' | 'key' | 'open' | 'opened' | 'other' | 'owned', string>
>;

/** Corruptions such as those of a bug, a manual repair or a damaged copy. `:closed` is a request of a closed day. */
export const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  ['I4', 'a charge of a closed day deleted', `DELETE FROM ledger_entry WHERE reservation_id = ':closed'`],
  [
    'I4',
    'a charge of a closed day changed',
    `UPDATE ledger_entry SET amount_micro = amount_micro + 1, organization_delta_micro = organization_delta_micro - 1
      WHERE reservation_id = ':closed'`,
  ],
  ['I5', 'a reservation of a closed day deleted', `DELETE FROM reservation WHERE id = ':closed'`],
  [
    'I5',
    'a charge added to a closed day',
    `INSERT INTO ledger_entry (organization_id, kind, debit_account, credit_account, amount_micro,
                               organization_delta_micro, reservation_id)
     VALUES (':organization', 'charge', 'organization', 'revenue', 5, -5, first_id_of(':day'))`,
  ],
  [
    'I7',
    'a job of a closed day charged more than it held',
    `ALTER TABLE reservation DROP CONSTRAINT reservation_job_charge_check;
     UPDATE reservation SET owner = 'media_job', amount_micro = charged_micro - 1 WHERE id = ':closed'`,
  ],
  [
    'I8',
    'a job of a closed day without its hold',
    `INSERT INTO media_job (id, organization_id, key_id, kind, model, estimated_cost_micro, max_cost_micro, params,
                            settings, route, metadata, next_run_at, created_at, expires_at)
     VALUES (':closed', ':organization', ':key', 'video', 'm', 9, 9, '{}', '{}', '{}', '{}', now(), now(), now())`,
  ],
  [
    'I22',
    'a request of a closed day deleted with its charge',
    `DELETE FROM reservation WHERE id = ':closed'; DELETE FROM ledger_entry WHERE reservation_id = ':closed'`,
  ],
  [
    'I22',
    'a request added to a closed day',
    `INSERT INTO reservation SELECT (jsonb_populate_record(r, jsonb_build_object('id', first_id_of(':day')))).*
       FROM reservation r WHERE state = 'released' AND day = ':day' LIMIT 1`,
  ],
  [
    'I22',
    'a request of a closed day and its charge raised together',
    `UPDATE reservation SET charged_micro = charged_micro + 1 WHERE id = ':closed';
     UPDATE ledger_entry SET amount_micro = amount_micro + 1, organization_delta_micro = organization_delta_micro - 1
      WHERE reservation_id = ':closed'`,
  ],
  ['I22', 'a time of a closed day changed', `UPDATE reservation SET ended_at = now() WHERE id = ':closed'`],
  [
    'I22',
    'a request of a closed day with another key',
    `UPDATE reservation SET key_id = ':other' WHERE id = ':closed'`,
  ],
  [
    'I22',
    'a hold of a closed day that ended otherwise',
    `UPDATE reservation SET state = 'expired' WHERE day = ':day' AND state = 'released'`,
  ],
  [
    'I22',
    'an uncollected amount of a closed day changed',
    `UPDATE reservation SET uncollected_micro = 1 WHERE id = ':closed'`,
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
    `UPDATE reservation SET state = 'held', charged_micro = NULL, ended_at = NULL WHERE id = ':closed'`,
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
    `INSERT INTO spend_window (scope, scope_id, window_start, spent_micro) VALUES (2, ':other', ':day', 1)`,
  ],
  [
    'I21',
    'a balance of an entry of a closed day changed',
    `UPDATE ledger_entry SET balance_after_micro = balance_after_micro + 1 WHERE reservation_id = ':closed'`,
  ],
  [
    'I21',
    'a balance of an entry of a closed day removed',
    `UPDATE ledger_entry SET balance_after_micro = NULL WHERE reservation_id = ':closed'`,
  ],
  ['I1', 'a balance changed', `UPDATE organization_account SET balance_micro = balance_micro + 1`],
  ['I4', 'a charge of an open day deleted', `DELETE FROM ledger_entry WHERE reservation_id = ':open'`],
  ['I5', 'a reservation of an open day deleted', `DELETE FROM reservation WHERE id = ':open'`],
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
    `UPDATE ledger_entry SET balance_after_micro = balance_after_micro + 1 WHERE reservation_id = ':open'`,
  ],
  [
    'I21',
    'the balance of the latest entry changed',
    `UPDATE ledger_entry SET balance_after_micro = balance_after_micro + 1
      WHERE id IN (SELECT max(id) FROM ledger_entry GROUP BY organization_id)`,
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
    `INSERT INTO ledger_entry (organization_id, kind, debit_account, credit_account, amount_micro,
                               organization_delta_micro, reservation_id)
     VALUES (':organization', 'charge', 'organization', 'revenue', 5, -5, first_id_of(':day'))`,
  ],
  ['a request of a closed day changed', `UPDATE reservation SET ended_at = now() WHERE id = ':closed'`],
  ['a request of a closed day deleted', `DELETE FROM reservation WHERE id = ':closed'`],
  ['a closing changed', `UPDATE ledger_closing SET charged_micro = 0`],
  ['a closing deleted', `DELETE FROM ledger_closing`],
  ['the closings emptied', `TRUNCATE ledger_closing`],
  ['a closed window changed', `UPDATE ledger_closing_window SET spent_micro = 0`],
  ['a closed day opened again', `DELETE FROM ledger_day`],
];

/** Disables what refuses the corruptions. */
export const UNLOCKED = [
  'reservation',
  'ledger_entry',
  'ledger_day',
  'ledger_closing',
  'ledger_closing_window',
  'media_job',
].map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`);
