import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CreateMoneyCorrections1795200000015 } from './1795200000015-create-money-corrections';

/**
 * Holds that belong to jobs: `reservation.owner` is `media_job`. No process owns them and none may end them but with
 * their job, however long its workers are away; and none of them ever charges more than it holds (contract, section 3).
 */
export class HoldMoneyForJobs1795500000002 implements MigrationInterface {
  readonly name = 'HoldMoneyForJobs1795500000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE reservation ADD CONSTRAINT reservation_job_charge_check
        CHECK (owner <> 'media_job' OR (COALESCE(charged_micro, 0) <= amount_micro AND uncollected_micro = 0))`);
    await runner.query(SWEEP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE reservation DROP CONSTRAINT reservation_job_charge_check');
    const corrections = new CreateMoneyCorrections1795200000015();
    await corrections.down(runner);
    await corrections.up(runner);
  }
}

/** `money_sweep` as it was, but for the holds of jobs. All that its first version says of it holds (CreateMoneyCorrections). */
const SWEEP = `
  CREATE OR REPLACE FUNCTION money_sweep(p_instance text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids uuid[];
    v_organizations uuid[];
  BEGIN
    IF NOT EXISTS (SELECT FROM gateway_instance g
                    WHERE g.id = p_instance AND g.steady_since <= v_now - interval '10 seconds'
                      AND g.heartbeat_at > v_now - interval '10 seconds')
       OR NOT pg_try_advisory_xact_lock(hashtext('money_sweep')) THEN
      RETURN 0;
    END IF;

    SELECT array_agg(o.id), array_agg(o.organization_id) INTO v_ids, v_organizations
      FROM (SELECT r.id, r.organization_id
              FROM reservation r LEFT JOIN gateway_instance g ON g.id = r.owner
             WHERE r.state = 'held' AND r.owner <> 'media_job'
               AND (r.expires_at <= v_now
                    OR COALESCE(g.heartbeat_at, r.created_at) < v_now - interval '20 seconds')
             LIMIT p_limit) o;
    IF v_ids IS NOT NULL THEN
      PERFORM money_finish(v_ids, v_organizations, array_fill('expired'::text, ARRAY[cardinality(v_ids)]),
                           array_fill(0::bigint, ARRAY[cardinality(v_ids)]), NULL, v_now);
    END IF;

    DELETE FROM gateway_instance g
     WHERE g.heartbeat_at < v_now - interval '1 minute'
       AND NOT EXISTS (SELECT FROM reservation r WHERE r.state = 'held' AND r.owner = g.id);
    RETURN COALESCE(cardinality(v_ids), 0);
  END $$`;
