import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ACCOUNTS, CHARGES, CreateLedgerAuditor1795200000016, WINDOWS } from './1795200000016-create-ledger-auditor';
import { AuditIdempotency1795300000024, IN_PROGRESS } from './1795300000024-audit-idempotency';

/**
 * `money_violations` also sees jobs that do not fit their holds, and what has to be told of them and is not. Two invariants
 * that it saw before make way for holds of jobs: I9, since a job is no process that could die, and I12, since the
 * answer to a submission is given before anything is charged.
 */
export class AuditMediaJobs1795500000003 implements MigrationInterface {
  readonly name = 'AuditMediaJobs1795500000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW money_violations, ledger_violations');
    await runner.query(`CREATE VIEW money_violations AS ${VIOLATIONS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW money_violations');
    await new CreateLedgerAuditor1795200000016().up(runner);
    await new AuditIdempotency1795300000024().up(runner);
  }
}

/** The hold of a job outlasts it by an hour: when even that is over, nobody has looked after expired jobs. */
export const ORPHANS = `
  SELECT 'I9 no orphaned hold is older than 30 seconds', r.id::text, r.amount_micro
    FROM reservation r LEFT JOIN gateway_instance g ON g.id = r.owner
   WHERE r.state = 'held'
     AND CASE r.owner WHEN 'media_job' THEN r.expires_at
                      ELSE LEAST(r.expires_at, COALESCE(g.heartbeat_at, r.created_at)) END
         < clock_timestamp() - interval '30 seconds'
     AND EXISTS (SELECT FROM gateway_instance s WHERE s.heartbeat_at > clock_timestamp() - interval '10 seconds'
                                                  AND s.steady_since < clock_timestamp() - interval '30 seconds')`;

export const COMPLETED = `
  SELECT 'I12 a completed key tells the charge of its reservation', d.reservation_id::text,
         (d.charged_micro - COALESCE(r.charged_micro, 0))::numeric
    FROM idempotency_record d
    LEFT JOIN reservation r ON r.id = d.reservation_id AND r.organization_id = d.organization_id
                               AND (r.state <> 'held' OR r.owner = 'media_job')
   WHERE d.state = 'completed'
     AND (r.id IS NULL
          OR d.charged_micro <> CASE r.owner WHEN 'media_job' THEN 0 ELSE COALESCE(r.charged_micro, 0) END)`;

/** A hold that has ended may be without its job, which was deleted; one that has not may not. */
const JOBS = `
  SELECT 'I7 a job is charged at most what it holds', r.id::text, (r.charged_micro - r.amount_micro)::numeric
    FROM reservation r WHERE r.owner = 'media_job' AND r.charged_micro > r.amount_micro
  UNION ALL
  SELECT 'I8 a job and its hold end together, and alike', COALESCE(j.id, r.id)::text,
         (COALESCE(r.charged_micro, 0) - COALESCE(j.cost_micro, 0))::numeric
    FROM media_job j
    FULL JOIN (SELECT * FROM reservation WHERE owner = 'media_job') r
         ON r.id = j.id AND r.organization_id = j.organization_id
   WHERE CASE WHEN j.id IS NULL THEN r.state = 'held'
              ELSE r.id IS NULL OR r.amount_micro <> j.estimated_cost_micro
                   OR COALESCE(r.charged_micro, 0) <> j.cost_micro
                   OR r.state <> CASE j.status WHEN 'succeeded' THEN 'settled' WHEN 'failed' THEN 'released'
                                               WHEN 'canceled' THEN 'released' WHEN 'expired' THEN 'expired'
                                               ELSE 'held' END
         END`;

/** Of jobs that ended long ago the deliveries may have been forgotten, and of deleted ones with them. */
export const DELIVERIES = `
  SELECT 'I10 what has to be told of a job is told once', j.id::text, count(w.id)::numeric
    FROM media_job j LEFT JOIN webhook_delivery w ON w.job_id = j.id
   WHERE j.deleted_at IS NULL
     AND (j.completed_at IS NULL OR j.completed_at > clock_timestamp() - interval '29 days')
   GROUP BY j.id
  HAVING COALESCE(array_agg(w.event) FILTER (WHERE w.id IS NOT NULL), '{}')
         <> CASE WHEN j.webhook_url IS NULL THEN '{}'
                 WHEN j.status = 'succeeded' THEN '{job.completed}'
                 WHEN j.status = 'failed' THEN '{job.failed}'
                 ELSE '{}' END::text[]`;

export const VIOLATIONS = `${ACCOUNTS} UNION ALL ${CHARGES} UNION ALL ${WINDOWS} UNION ALL ${ORPHANS}
  UNION ALL ${IN_PROGRESS} UNION ALL ${COMPLETED} UNION ALL ${JOBS} UNION ALL ${DELIVERIES}`;
