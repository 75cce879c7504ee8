import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `idempotency_sweep`: forgets up to p_limit records whose time is over with their bodies, and as many bodies that belong
 * to no record; 64 MiB of bodies or a little more of either kind. Answers how many rows of these it removed. To be called
 * until that is none: no call takes long, however much is stored, since each reads only what it removes.
 *
 * A body is written before the transaction that completes its record, so that one without a record is left when that
 * transaction never came, or when its expired key was claimed anew. Bodies that outlived the time of any record are looked
 * at for that: the records of all others would have to be looked up at each sweep.
 * One sweeper at a time, by an advisory lock; so no two of them lock several counters.
 */
export class CreateIdempotencySweep1795300000023 implements MigrationInterface {
  readonly name = 'CreateIdempotencySweep1795300000023';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX idempotency_body_created_index ON idempotency_body (created_at);

      CREATE FUNCTION idempotency_sweep(p_limit integer) RETURNS integer LANGUAGE plpgsql
      SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
      AS $$
      DECLARE
        v_now timestamptz := clock_timestamp();
        v_records integer;
        v_bodies integer := 0;
      BEGIN
        IF NOT pg_try_advisory_xact_lock(hashtext('idempotency_sweep')) THEN
          RETURN 0;
        END IF;

        WITH expired AS (
          SELECT e.reservation_id, COALESCE(sum(b.bytes) OVER (ORDER BY e.expires_at, e.reservation_id), 0)
                                   - COALESCE(b.bytes, 0) AS bytes_before
            FROM (SELECT d.reservation_id, d.expires_at FROM idempotency_record d
                   WHERE d.state = 'completed' AND d.expires_at <= v_now
                   ORDER BY d.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED) e
            LEFT JOIN idempotency_body b ON b.reservation_id = e.reservation_id
        ), forgotten AS (
          DELETE FROM idempotency_record d USING expired e
           WHERE d.reservation_id = e.reservation_id AND e.bytes_before < 67108864
          RETURNING d.reservation_id
        ), gone AS (
          DELETE FROM idempotency_body b USING forgotten f WHERE b.reservation_id = f.reservation_id
          RETURNING b.organization_id, b.bytes
        ), freed AS (
          UPDATE idempotency_storage s SET stored_bytes = s.stored_bytes - t.bytes
            FROM (SELECT organization_id, sum(bytes)::bigint AS bytes FROM gone GROUP BY 1) t
           WHERE s.organization_id = t.organization_id
        )
        SELECT count(*) INTO v_records FROM forgotten;

        IF v_records = 0 THEN
          WITH orphan AS (
            SELECT c.reservation_id
              FROM (SELECT b.reservation_id, b.bytes, sum(b.bytes) OVER (ORDER BY b.reservation_id) AS running_bytes
                      FROM (SELECT reservation_id, bytes FROM idempotency_body
                             WHERE created_at < v_now - interval '25 hours'
                               AND NOT EXISTS (SELECT FROM idempotency_record d
                                                WHERE d.reservation_id = idempotency_body.reservation_id)
                             LIMIT p_limit) b) c
             WHERE c.running_bytes - c.bytes < 67108864
          ), gone AS (
            DELETE FROM idempotency_body b USING orphan o WHERE b.reservation_id = o.reservation_id
            RETURNING b.organization_id, b.bytes
          ), freed AS (
            UPDATE idempotency_storage s SET stored_bytes = s.stored_bytes - t.bytes
              FROM (SELECT organization_id, sum(bytes)::bigint AS bytes FROM gone GROUP BY 1) t
             WHERE s.organization_id = t.organization_id
          )
          SELECT count(*) INTO v_bodies FROM gone;
        END IF;
        RETURN v_records + v_bodies;
      END $$
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION idempotency_sweep; DROP INDEX idempotency_body_created_index');
  }
}
