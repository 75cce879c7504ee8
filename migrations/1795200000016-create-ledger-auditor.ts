import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `money_violations`: no rows means that every invariant of the money tables holds. True at every moment, also under
 * load, when read as one snapshot. Each join is full or anti, so that a row missing on either side shows.
 *
 * I9 counts an orphaned hold only while some instance has been fit to sweep it for 30 seconds.
 */
export class CreateLedgerAuditor1795200000016 implements MigrationInterface {
  readonly name = 'CreateLedgerAuditor1795200000016';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE VIEW money_violations AS ${ACCOUNTS} UNION ALL ${CHARGES} UNION ALL ${WINDOWS}
      UNION ALL ${ORPHANS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW money_violations');
  }
}

export const ACCOUNTS = `
  SELECT 'I1 balance is the sum of the ledger' AS invariant, organization_id::text AS subject,
         COALESCE(a.balance_micro, 0) - COALESCE(l.total, 0) AS difference_micro
    FROM organization_account a
    FULL JOIN (SELECT organization_id, sum(organization_delta_micro) AS total FROM ledger_entry GROUP BY 1) l
         USING (organization_id)
   WHERE a.organization_id IS NULL OR a.balance_micro <> COALESCE(l.total, 0)
  UNION ALL
  SELECT 'I2 reserved is the sum of the held reservations', organization_id::text,
         COALESCE(a.reserved_micro, 0) - COALESCE(h.total, 0)
    FROM organization_account a
    FULL JOIN (SELECT organization_id, sum(amount_micro) AS total FROM reservation WHERE state = 'held' GROUP BY 1) h
         USING (organization_id)
   WHERE a.organization_id IS NULL OR a.reserved_micro <> COALESCE(h.total, 0)
  UNION ALL
  SELECT 'I3 nothing reserved beyond the balance', organization_id::text, balance_micro - reserved_micro
    FROM organization_account WHERE reserved_micro < 0 OR balance_micro < reserved_micro`;

export const CHARGES = `
  SELECT 'I4 settled has its charge', r.id::text, r.charged_micro - COALESCE(l.total, 0)
    FROM reservation r
    LEFT JOIN (SELECT reservation_id, organization_id, sum(amount_micro) AS total
                 FROM ledger_entry WHERE kind = 'charge' GROUP BY 1, 2) l
         ON l.reservation_id = r.id AND l.organization_id = r.organization_id
   WHERE r.state = 'settled' AND r.charged_micro <> COALESCE(l.total, 0)
  UNION ALL
  SELECT 'I5 a charge belongs to a settled reservation', l.reservation_id::text, l.amount_micro
    FROM ledger_entry l LEFT JOIN reservation r ON r.id = l.reservation_id AND r.state = 'settled'
   WHERE l.kind = 'charge' AND r.id IS NULL`;

export const WINDOWS = `
  SELECT 'I6 a window is the sum of its reservations', scope || ' ' || scope_id || ' ' || window_start,
         COALESCE(w.reserved_micro, 0) - COALESCE(x.held, 0) + COALESCE(w.spent_micro, 0) - COALESCE(x.spent, 0)
    FROM spend_window w
    FULL JOIN (SELECT s.scope::smallint AS scope,
                      CASE s.scope WHEN 1 THEN r.organization_id ELSE r.key_id END AS scope_id,
                      CASE s.scope WHEN 2 THEN r.day ELSE r.month END AS window_start,
                      sum(r.amount_micro) FILTER (WHERE r.state = 'held') AS held, sum(r.charged_micro) AS spent
                 FROM reservation r, (VALUES (1), (2), (3)) s (scope) GROUP BY 1, 2, 3) x
         USING (scope, scope_id, window_start)
   WHERE COALESCE(w.reserved_micro, 0) <> COALESCE(x.held, 0) OR COALESCE(w.spent_micro, 0) <> COALESCE(x.spent, 0)`;

const ORPHANS = `
  SELECT 'I9 no orphaned hold is older than 30 seconds', r.id::text, r.amount_micro
    FROM reservation r LEFT JOIN gateway_instance g ON g.id = r.owner
   WHERE r.state = 'held'
     AND LEAST(r.expires_at, COALESCE(g.heartbeat_at, r.created_at)) < clock_timestamp() - interval '30 seconds'
     AND EXISTS (SELECT FROM gateway_instance s WHERE s.heartbeat_at > clock_timestamp() - interval '10 seconds'
                                                  AND s.steady_since < clock_timestamp() - interval '30 seconds')`;
