import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What webhooks are signed with, the log of their deliveries, and who delivers next. */
export class CreateWebhooks1795500000010 implements MigrationInterface {
  readonly name = 'CreateWebhooks1795500000010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(CLAIM);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION webhook_claim; DROP TABLE webhook_attempt, organization_webhook_secret');
  }
}

const TABLES = `
  CREATE TABLE organization_webhook_secret (
    organization_id uuid NOT NULL,
    sealed text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT organization_webhook_secret_pkey PRIMARY KEY (organization_id),
    CONSTRAINT organization_webhook_secret_organization_id_fkey FOREIGN KEY (organization_id)
      REFERENCES organization (id) ON DELETE CASCADE
  );
  CREATE TABLE webhook_attempt (
    delivery_id uuid NOT NULL,
    number smallint NOT NULL,
    started_at timestamptz NOT NULL,
    status smallint,
    error text,
    duration_ms integer NOT NULL,
    CONSTRAINT webhook_attempt_pkey PRIMARY KEY (delivery_id, number),
    CONSTRAINT webhook_attempt_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_delivery (id) ON DELETE CASCADE,
    CONSTRAINT webhook_attempt_outcome_check CHECK (duration_ms >= 0 AND num_nonnulls(status, error) > 0)
  );
`;

/**
 * `webhook_claim`: takes up to `p_limit` deliveries that are due, each for `p_lease_seconds`, and counts an attempt of each.
 * Never more at once than `p_per_host` to one host and `p_per_organization` of one organization, whichever processes post
 * them: a live lease is a post under way.
 *
 * - One caller at a time, and the leases are looked at after the others' are committed: hence a function of several
 *   statements, and a lock.
 * - Organizations take turns, and at each host again, so that nobody's backlog keeps another waiting. Within an
 *   organization the longest overdue comes first, but for hosts that are busy. `organizations` jumps from one to the next
 *   in the index instead of reading all that waits, and of each no more is read than it may post.
 * - Rows that somebody is deleting are passed over.
 */
const CLAIM = `
  CREATE FUNCTION webhook_claim(p_limit integer, p_lease_seconds integer, p_per_host integer, p_per_organization integer)
  RETURNS SETOF webhook_delivery LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz;
    v_busy_hosts text[];
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('webhook_claim'));
    v_now := date_trunc('milliseconds', clock_timestamp());
    SELECT COALESCE(array_agg(b.target_host), '{}') INTO v_busy_hosts
      FROM (SELECT w.target_host FROM webhook_delivery w WHERE w.lease_until > v_now
             GROUP BY w.target_host HAVING count(*) >= p_per_host) b;

    RETURN QUERY
    WITH RECURSIVE
    posting AS MATERIALIZED (
      SELECT w.organization_id, w.target_host FROM webhook_delivery w WHERE w.lease_until > v_now),
    of_organization AS MATERIALIZED (SELECT p.organization_id, count(*) AS posts FROM posting p GROUP BY 1),
    at_host AS MATERIALIZED (SELECT p.target_host, count(*) AS posts FROM posting p GROUP BY 1),
    organizations AS (
      (SELECT w.organization_id AS id FROM webhook_delivery w WHERE w.state = 'pending'
        ORDER BY w.organization_id LIMIT 1)
      UNION ALL
      SELECT (SELECT w.organization_id FROM webhook_delivery w
               WHERE w.state = 'pending' AND w.organization_id > o.id ORDER BY w.organization_id LIMIT 1)
        FROM organizations o WHERE o.id IS NOT NULL),
    due AS (
      SELECT d.*, COALESCE(p.posts, 0) AS posts_of_organization,
             row_number() OVER (PARTITION BY d.organization_id, d.target_host ORDER BY d.next_at) AS turn_at_host
        FROM organizations o
        LEFT JOIN of_organization p ON p.organization_id = o.id
       CROSS JOIN LATERAL (
         SELECT w.id, w.organization_id, w.target_host, w.next_at FROM webhook_delivery w
          WHERE w.state = 'pending' AND w.organization_id = o.id AND w.next_at <= v_now
            AND (w.lease_until IS NULL OR w.lease_until <= v_now)
            AND w.target_host <> ALL (v_busy_hosts)
          ORDER BY w.next_at LIMIT LEAST(p_limit, p_per_organization)) d
       WHERE COALESCE(p.posts, 0) < p_per_organization),
    within_hosts AS (
      SELECT d.*, d.posts_of_organization + row_number() OVER (PARTITION BY d.organization_id ORDER BY d.next_at) AS turn
        FROM (SELECT due.*, COALESCE(p.posts, 0)
                            + row_number() OVER (PARTITION BY due.target_host ORDER BY due.turn_at_host, due.next_at)
                              AS place_at_host
                FROM due LEFT JOIN at_host p ON p.target_host = due.target_host) d
       WHERE d.place_at_host <= p_per_host),
    claimed AS (
      SELECT w.id FROM webhook_delivery w
       WHERE w.id IN (SELECT h.id FROM within_hosts h WHERE h.turn <= p_per_organization
                       ORDER BY h.turn, h.next_at LIMIT p_limit)
         AND w.state = 'pending' AND w.next_at <= v_now AND (w.lease_until IS NULL OR w.lease_until <= v_now)
         FOR UPDATE SKIP LOCKED)
    UPDATE webhook_delivery w
       SET attempt = w.attempt + 1, lease_until = v_now + make_interval(secs => p_lease_seconds)
      FROM claimed c WHERE w.id = c.id
    RETURNING w.*;
  END $$`;
