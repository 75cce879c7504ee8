-- Claims up to `p_limit` due deliveries, each for `p_lease_seconds`, and counts an attempt for each. At most `p_per_host`
-- requests to one host and `p_per_organization` of one organization are in flight, across all processes: a live lease is a
-- request in flight.
--
-- - One caller at a time, and leases are read after those of other callers are committed: hence a lock and several statements.
-- - At a host, an organization is admitted only while more places are free than it already uses there. It never has more than
--   half of them, and a receiver that hangs leaves places for other organizations.
-- - Organizations alternate, and again at each host, counted from their requests in flight. Within an organization the longest
--   overdue delivery comes first, except for hosts where it is not admitted. `organizations` skips from one to the next in the
--   index instead of reading all pending deliveries, and reads no more of each than it may send.
-- - Rows that are being deleted are skipped.
-- - The end of a lease has whole milliseconds, as its owner reads it. The present has not: a delivery requested in the same
--   millisecond is due.
--
-- `within_hosts`: `place_at_host - 1` places are taken, `turn_at_host - 1` of them by the organization itself, so more are free
-- than it uses if `turn_at_host + place_at_host <= p_per_host + 1`. Both grow along the order, so the rows that fit are a
-- prefix of it, and the places are counted correctly.
CREATE OR REPLACE FUNCTION webhook_claim(p_limit integer, p_lease_seconds integer, p_per_host integer, p_per_organization integer)
RETURNS SETOF webhook_delivery LANGUAGE plpgsql
AS $$
DECLARE
  v_now timestamptz;
  v_full_hosts text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('webhook_claim'));
  v_now := clock_timestamp();
  SELECT COALESCE(array_agg(b.target_host), '{}') INTO v_full_hosts
    FROM (SELECT w.target_host FROM webhook_delivery w WHERE w.lease_until > v_now
           GROUP BY w.target_host HAVING count(*) >= p_per_host) b;

  RETURN QUERY
  WITH RECURSIVE
  posting AS MATERIALIZED (
    SELECT w.organization_id, w.target_host FROM webhook_delivery w WHERE w.lease_until > v_now),
  of_organization AS MATERIALIZED (SELECT p.organization_id, count(*) AS posts FROM posting p GROUP BY 1),
  at_host AS MATERIALIZED (SELECT p.target_host, count(*) AS posts FROM posting p GROUP BY 1),
  share AS MATERIALIZED (
    SELECT p.organization_id, p.target_host, count(*) AS posts FROM posting p GROUP BY 1, 2),
  closed AS MATERIALIZED (
    SELECT s.organization_id, array_agg(s.target_host) AS hosts
      FROM share s JOIN at_host h ON h.target_host = s.target_host
     WHERE s.posts >= p_per_host - h.posts GROUP BY 1),
  organizations AS (
    (SELECT w.organization_id AS id FROM webhook_delivery w WHERE w.state = 'pending'
      ORDER BY w.organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT w.organization_id FROM webhook_delivery w
             WHERE w.state = 'pending' AND w.organization_id > o.id ORDER BY w.organization_id LIMIT 1)
      FROM organizations o WHERE o.id IS NOT NULL),
  due AS (
    SELECT d.*, COALESCE(p.posts, 0) AS posts_of_organization,
           COALESCE(s.posts, 0) + row_number() OVER (PARTITION BY d.organization_id, d.target_host ORDER BY d.next_at)
             AS turn_at_host
      FROM organizations o
      LEFT JOIN of_organization p ON p.organization_id = o.id
      LEFT JOIN closed c ON c.organization_id = o.id
     CROSS JOIN LATERAL (
       SELECT w.id, w.organization_id, w.target_host, w.next_at FROM webhook_delivery w
        WHERE w.state = 'pending' AND w.organization_id = o.id AND w.next_at <= v_now
          AND (w.lease_until IS NULL OR w.lease_until <= v_now)
          AND w.target_host <> ALL (v_full_hosts) AND w.target_host <> ALL (COALESCE(c.hosts, '{}'))
        ORDER BY w.next_at LIMIT LEAST(p_limit, p_per_organization)) d
      LEFT JOIN share s ON s.organization_id = d.organization_id AND s.target_host = d.target_host
     WHERE COALESCE(p.posts, 0) < p_per_organization),
  within_hosts AS (
    SELECT d.*, d.posts_of_organization + row_number() OVER (PARTITION BY d.organization_id ORDER BY d.next_at) AS round
      FROM (SELECT due.*, COALESCE(p.posts, 0)
                          + row_number() OVER (PARTITION BY due.target_host ORDER BY due.turn_at_host, due.next_at)
                            AS place_at_host
              FROM due LEFT JOIN at_host p ON p.target_host = due.target_host) d
     WHERE d.turn_at_host + d.place_at_host <= p_per_host + 1),
  claimed AS (
    SELECT w.organization_id, w.id FROM webhook_delivery w
     WHERE (w.organization_id, w.id) IN (
                     SELECT h.organization_id, h.id FROM within_hosts h WHERE h.round <= p_per_organization
                     ORDER BY h.round, h.next_at LIMIT p_limit)
       AND w.state = 'pending' AND w.next_at <= v_now AND (w.lease_until IS NULL OR w.lease_until <= v_now)
       FOR UPDATE SKIP LOCKED)
  UPDATE webhook_delivery w
     SET attempt = w.attempt + 1,
         lease_until = date_trunc('milliseconds', v_now) + make_interval(secs => p_lease_seconds)
    FROM claimed c WHERE w.organization_id = c.organization_id AND w.id = c.id
  RETURNING w.*;
END
$$;
