import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ACCOUNTS } from './1795200000016-create-ledger-auditor';
import { IN_PROGRESS } from './1795300000024-audit-idempotency';
import { COMPLETED, DELIVERIES, ORPHANS, VIOLATIONS } from './1795500000003-audit-media-jobs';
import { PURCHASES } from './1795600000301-audit-purchases';
import { REFUNDS } from './1795600001300-follow-refunds';

/**
 * `ledger_audit`: one row that all processes share, with the outcome of the last audit and the time of the next one. So one
 * process audits for all of them, and each of them can report the outcome.
 *
 * `money_violations` keeps its invariants and reads less: `reservation` twice instead of six times, `ledger_entry` twice
 * instead of three times, and no longer three rows for each reservation.
 */
export class CreateLedgerAudit1795700003000 implements MigrationInterface {
  readonly name = 'CreateLedgerAudit1795700003000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLE);
    await runner.query(`CREATE OR REPLACE VIEW money_violations AS ${BOOKS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE OR REPLACE VIEW money_violations AS ${VIOLATIONS} UNION ALL ${PURCHASES} UNION ALL ${REFUNDS}`,
    );
    await runner.query('DROP TABLE ledger_audit');
  }
}

/** `failed_at` and `failure` are of the latest audit when it did not complete, and NULL once one completes. */
const TABLE = `
  CREATE TABLE ledger_audit (
    id boolean NOT NULL DEFAULT true,
    next_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    completed_at timestamptz,
    duration_ms bigint,
    violation_count integer,
    violations jsonb NOT NULL DEFAULT '[]',
    failed_at timestamptz,
    failure text,
    CONSTRAINT ledger_audit_pkey PRIMARY KEY (id),
    CONSTRAINT ledger_audit_id_check CHECK (id),
    CONSTRAINT ledger_audit_completed_check CHECK (num_nulls(completed_at, duration_ms, violation_count) IN (0, 3)),
    CONSTRAINT ledger_audit_failed_check CHECK (num_nulls(failed_at, failure) IN (0, 2))
  );
  INSERT INTO ledger_audit DEFAULT VALUES;
`;

/**
 * One pass over reservations and charges, which a unique index pairs. OFFSET 0 keeps the few rows that break something
 * apart from the check of all rows.
 */
const CHARGES = `
  SELECT broken.invariant, broken.subject::text, broken.difference
    FROM (SELECT COALESCE(r.id, l.reservation_id) AS id, r.state, r.owner, r.amount_micro, r.charged_micro,
                 r.organization_id = l.organization_id AS is_same_organization, l.amount_micro AS entry_micro
            FROM reservation r
            FULL JOIN (SELECT reservation_id, organization_id, amount_micro FROM ledger_entry WHERE kind = 'charge') l
                 ON l.reservation_id = r.id
           WHERE CASE WHEN r.state = 'settled' THEN r.charged_micro <> COALESCE(l.amount_micro, 0)
                                                    OR r.organization_id <> l.organization_id
                      ELSE l.reservation_id IS NOT NULL END
              OR (r.owner = 'media_job' AND r.charged_micro > r.amount_micro)
          OFFSET 0) pair,
         LATERAL (
           VALUES ('I4 settled has its charge', pair.id,
                   CASE WHEN state = 'settled'
                        THEN charged_micro - CASE WHEN is_same_organization THEN entry_micro ELSE 0 END END::numeric),
                  ('I5 a charge belongs to a settled reservation', pair.id,
                   CASE WHEN state IS DISTINCT FROM 'settled' THEN entry_micro END::numeric),
                  ('I7 a job is charged at most what it holds', pair.id,
                   CASE WHEN owner = 'media_job' THEN GREATEST(charged_micro - amount_micro, 0) END::numeric)
         ) broken (invariant, subject, difference)
   WHERE broken.difference <> 0`;

/** Summed by key first: most reservations share their windows with others. */
const WINDOWS = `
  SELECT 'I6 a window is the sum of its reservations', scope || ' ' || scope_id || ' ' || window_start,
         COALESCE(w.reserved_micro, 0) - COALESCE(x.held, 0) + COALESCE(w.spent_micro, 0) - COALESCE(x.spent, 0)
    FROM spend_window w
    FULL JOIN (SELECT s.scope::smallint AS scope,
                      CASE s.scope WHEN 1 THEN r.organization_id ELSE r.key_id END AS scope_id,
                      CASE s.scope WHEN 2 THEN r.day ELSE r.month END AS window_start,
                      sum(r.held) AS held, sum(r.spent) AS spent
                 FROM (SELECT organization_id, key_id, day, month, sum(charged_micro) AS spent,
                              sum(amount_micro) FILTER (WHERE state = 'held') AS held
                         FROM reservation GROUP BY 1, 2, 3, 4) r,
                      (VALUES (1), (2), (3)) s (scope)
                GROUP BY 1, 2, 3) x
         USING (scope, scope_id, window_start)
   WHERE COALESCE(w.reserved_micro, 0) <> COALESCE(x.held, 0) OR COALESCE(w.spent_micro, 0) <> COALESCE(x.spent, 0)`;

/** Jobs are few among the reservations: those of jobs are found by key, and held ones through their index. */
const JOBS = `
  SELECT 'I8 a job and its hold end together, and alike', j.id::text,
         (COALESCE(r.charged_micro, 0) - j.cost_micro)::numeric
    FROM media_job j
    LEFT JOIN reservation r ON r.id = j.id AND r.organization_id = j.organization_id AND r.owner = 'media_job'
   WHERE r.id IS NULL OR r.amount_micro <> j.estimated_cost_micro OR COALESCE(r.charged_micro, 0) <> j.cost_micro
      OR r.state <> CASE j.status WHEN 'succeeded' THEN 'settled' WHEN 'failed' THEN 'released'
                                  WHEN 'canceled' THEN 'released' WHEN 'expired' THEN 'expired' ELSE 'held' END
  UNION ALL
  SELECT 'I8 a job and its hold end together, and alike', r.id::text, r.amount_micro::numeric
    FROM reservation r LEFT JOIN media_job j ON j.id = r.id AND j.organization_id = r.organization_id
   WHERE r.state = 'held' AND r.owner = 'media_job' AND j.id IS NULL`;

const BOOKS = `${ACCOUNTS} UNION ALL ${CHARGES} UNION ALL ${WINDOWS} UNION ALL ${ORPHANS} UNION ALL ${IN_PROGRESS}
  UNION ALL ${COMPLETED} UNION ALL ${JOBS} UNION ALL ${DELIVERIES} UNION ALL ${PURCHASES} UNION ALL ${REFUNDS}`;
