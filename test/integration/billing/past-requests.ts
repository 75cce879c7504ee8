import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

export interface PastRequests {
  readonly count: number;
  /** Spreads the requests evenly over this many days until a minute ago. */
  readonly days: number;
  readonly organizations: number;
  readonly keysPerOrganization: number;
}

/**
 * Inserts ended requests with their charges, windows and balances, as the money functions would have written them, and
 * removes the retention's expectation of receipts. Nine in ten are settled; one in ten of these is free.
 */
export async function insertPastRequests(pool: Pool, options: PastRequests): Promise<void> {
  const { count, days, organizations, keysPerOrganization } = options;
  const seed = randomUUID();
  const client = await pool.connect();
  try {
    await client.query(
      `CREATE TEMPORARY TABLE past AS
       SELECT md5($1 || 'organization' || o)::uuid AS organization_id FROM generate_series(0, $2::integer - 1) o`,
      [seed, organizations],
    );
    await client.query(`INSERT INTO organization (id, name) SELECT organization_id, 'past' FROM past`);
    await client.query('INSERT INTO organization_account (organization_id) SELECT organization_id FROM past');
    await client.query(
      `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro,
                                   organization_delta_micro, balance_after_micro, external_reference, created_at)
       SELECT organization_id, 'topup', 'cash', 'organization', 1e12, 1e12, 1e12, 'opening balance',
              now() - make_interval(days => $1::integer + 1)
         FROM past`,
      [days],
    );
    await client.query(
      `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
                                      entry_id, balance_after_micro, created_at, ended_at, is_job)
       SELECT id, organization_id, key_id, state, 1000, charged, 0,
              CASE WHEN charged > 0 THEN nextval('ledger_entry_sequence') END,
              CASE WHEN charged > 0 THEN 1e12 - sum(charged) OVER (PARTITION BY organization_id ORDER BY id) END,
              t, t + interval '1 second', false
         FROM (SELECT (lpad(to_hex((extract(epoch FROM t) * 1000)::bigint), 12, '0') || '7000' ||
                         substr(md5($1 || n), 1, 16))::uuid AS id,
                      md5($1 || 'organization' || n % $2::integer)::uuid AS organization_id,
                      md5($1 || 'key' || n % ($2 * $3::integer))::uuid AS key_id,
                      CASE WHEN n % 10 > 0 THEN 'settled' WHEN n % 20 = 0 THEN 'released' ELSE 'expired' END AS state,
                      CASE WHEN n % 10 > 0 THEN n % 10 * 100 - 100 END AS charged, t
                 FROM generate_series(1, $4::integer) n,
                      LATERAL (SELECT now() - make_interval(secs => 60 + ($4 - n) * ($5::integer * 86400.0 / $4)) AS t) time
              ) request
        ORDER BY id`,
      [seed, organizations, keysPerOrganization, count, days],
    );
    await client.query(
      `INSERT INTO spend_window (organization_id, scope, scope_id, window_start, spent_micro)
       SELECT organization_id, s.scope, CASE s.scope WHEN 1 THEN organization_id ELSE key_id END,
              CASE s.scope WHEN 2 THEN day ELSE month END, COALESCE(sum(charged_micro), 0)
         FROM reservation JOIN past USING (organization_id), (VALUES (1), (2), (3)) s (scope) GROUP BY 1, 2, 3, 4`,
    );
    await client.query(
      `UPDATE organization_account a SET balance_micro = l.total
         FROM (SELECT organization_id, sum(organization_delta_micro) AS total FROM ledger_entry GROUP BY 1) l
        WHERE l.organization_id = a.organization_id`,
    );
    await client.query('INSERT INTO receipt_history (kept_since) VALUES (clock_timestamp())');
    await client.query('DROP TABLE past; ANALYZE');
  } finally {
    client.release();
  }
}
