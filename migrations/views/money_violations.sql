-- No rows: every invariant of money holds, at every moment, also under load, because the view is read as one snapshot. Joins
-- are full or anti joins, so that a row that is missing on either side shows.
--
-- Requests of closed days count by the sums of `ledger_closing`; `closed_day_violations` compares these with the requests, or
-- with the archive.

CREATE OR REPLACE VIEW money_violations AS

-- The only pass over the requests of open days.
WITH open_sums AS MATERIALIZED (
  SELECT * FROM ledger_open_spending
-- Windows that begin on this day or later, or in its month, may change; all others are complete. A reservation's window is that
-- of the database's clock, and its id is from the clock of a process.
), open_since AS MATERIALIZED (
  SELECT day, date_trunc('month', day)::date AS month
    FROM (SELECT LEAST((SELECT min(day) FROM open_sums),
                       COALESCE((SELECT max(day) + 1 FROM ledger_day WHERE closed_at IS NOT NULL), '-infinity')) AS day) d
)

SELECT 'I1 balance is the sum of the ledger' AS invariant, organization_id::text AS subject,
       COALESCE(a.balance_micro, 0) - COALESCE(l.total, 0) AS difference_micro
  FROM organization_account a
  FULL JOIN (SELECT organization_id, sum(delta_micro) AS total
               FROM (SELECT organization_id, organization_delta_micro AS delta_micro
                       FROM ledger_posting
                     UNION ALL
                     SELECT organization_id, -charged_micro FROM ledger_closing
                     UNION ALL
                     SELECT organization_id, -spent_micro FROM open_sums) entries
              GROUP BY 1) l
       USING (organization_id)
 WHERE a.organization_id IS NULL OR a.balance_micro <> COALESCE(l.total, 0)

UNION ALL
SELECT 'I2 reserved is the sum of the holds', organization_id::text,
       COALESCE(a.reserved_micro, 0) - COALESCE(h.total, 0)
  FROM organization_account a
  FULL JOIN (SELECT organization_id, sum(amount_micro) AS total FROM hold GROUP BY 1) h
       USING (organization_id)
 WHERE a.organization_id IS NULL OR a.reserved_micro <> COALESCE(h.total, 0)

UNION ALL
SELECT 'I3 nothing reserved beyond the balance', organization_id::text, balance_micro - reserved_micro
  FROM organization_account WHERE reserved_micro < 0 OR balance_micro < reserved_micro

-- I4, I7: single rows are only read when a sum says that some are broken.
UNION ALL
SELECT v.invariant, v.subject, v.difference_micro
  FROM ledger_open_range o, LATERAL ending_violations(o.low, o.high) v
 WHERE (SELECT sum(broken_count) FROM open_sums) > 0

UNION ALL
SELECT 'I5 a reservation is held or has ended, not both', h.id::text, h.amount_micro::numeric
  FROM hold h,
       LATERAL (SELECT FROM ended_reservation r WHERE r.id = h.id AND r.organization_id = h.organization_id OFFSET 0) ended

UNION ALL
SELECT 'I6 a window is the sum of its reservations', scope || ' ' || scope_id || ' ' || window_start,
       COALESCE(w.reserved_micro, 0) - COALESCE(x.held, 0) + COALESCE(w.spent_micro, 0) - COALESCE(x.spent, 0)
  FROM (SELECT w.*
          FROM open_since, (VALUES (1), (2), (3)) s (scope), spend_window w
         WHERE w.scope = s.scope
           AND w.window_start >= CASE s.scope WHEN 2 THEN open_since.day ELSE open_since.month END) w
  FULL JOIN (SELECT r.organization_id, s.scope::smallint AS scope,
                    CASE s.scope WHEN 1 THEN r.organization_id ELSE r.key_id END AS scope_id,
                    CASE s.scope WHEN 2 THEN r.day ELSE r.month END AS window_start,
                    sum(r.held_micro) AS held, sum(r.spent_micro) AS spent
               FROM open_since,
                    (SELECT organization_id, key_id, day, month, held_micro, spent_micro FROM open_sums
                     UNION ALL
                     SELECT c.organization_id, c.key_id, c.day, c.month, 0, c.spent_micro
                       FROM open_since, ledger_closing_window c WHERE c.day >= open_since.month) r,
                    (VALUES (1), (2), (3)) s (scope)
              WHERE s.scope <> 2 OR r.day >= open_since.day
              GROUP BY 1, 2, 3, 4) x
       USING (organization_id, scope, scope_id, window_start)
 WHERE COALESCE(w.reserved_micro, 0) <> COALESCE(x.held, 0) OR COALESCE(w.spent_micro, 0) <> COALESCE(x.spent, 0)

-- I22: the sums of an archived day take the place of its requests, so that it stays closed. All else is checked with the day.
UNION ALL
SELECT 'I22 a closed day is as it was closed', a.day || ' archive', a.charged_micro::numeric
  FROM ledger_archive a
 WHERE a.exported_at IS NOT NULL AND NOT EXISTS (SELECT FROM ledger_day d WHERE d.day = a.day AND d.closed_at IS NOT NULL)

-- I9: only while an instance has been fit to sweep for 30 seconds. The hold of a job outlasts the job by an hour: when that is
-- over, expired jobs are not being ended.
UNION ALL
SELECT 'I9 no orphaned hold is older than 30 seconds', r.id::text, r.amount_micro
  FROM hold r LEFT JOIN gateway_instance g ON g.id = r.owner
 WHERE CASE r.owner WHEN 'media_job' THEN r.expires_at
                    ELSE LEAST(r.expires_at, COALESCE(g.heartbeat_at, r.created_at)) END
       < clock_timestamp() - interval '30 seconds'
   AND EXISTS (SELECT FROM gateway_instance s WHERE s.heartbeat_at > clock_timestamp() - interval '10 seconds'
                                                AND s.steady_since < clock_timestamp() - interval '30 seconds')

-- I11, both ways: a record that would never end, and a hold whose key could be claimed a second time.
UNION ALL
SELECT 'I11 a key is in progress exactly while its reservation is held',
       COALESCE(d.reservation_id, r.id)::text, COALESCE(r.amount_micro, 0)::numeric
  FROM (SELECT * FROM idempotency_record WHERE state = 'in_progress') d
  FULL JOIN (SELECT * FROM hold WHERE keyed) r
       ON r.id = d.reservation_id AND r.organization_id = d.organization_id
 WHERE d.reservation_id IS NULL OR r.id IS NULL

-- I12: the response to a job submission is stored before anything is charged.
UNION ALL
SELECT 'I12 a completed key has the charge of its reservation', d.reservation_id::text,
       (d.charged_micro - COALESCE(r.charged_micro, 0))::numeric
  FROM idempotency_record d
  LEFT JOIN hold h ON h.organization_id = d.organization_id AND h.id = d.reservation_id AND h.owner = 'media_job'
  LEFT JOIN ended_reservation r ON r.id = d.reservation_id AND r.organization_id = d.organization_id
 WHERE d.state = 'completed'
   AND (h.id IS NOT NULL OR r.id IS NOT NULL
        OR NOT EXISTS (SELECT FROM ledger_archive a WHERE a.day = day_of_id(d.reservation_id) AND a.exported_at IS NOT NULL))
   AND ((h.id IS NULL AND r.id IS NULL)
        OR d.charged_micro <> CASE WHEN h.id IS NOT NULL OR r.is_job THEN 0 ELSE COALESCE(r.charged_micro, 0) END)

-- I8: jobs of closed days are checked with their day.
UNION ALL
SELECT v.invariant, v.subject, v.difference_micro
  FROM ledger_open_range o, LATERAL job_violations(o.low, o.high) v
UNION ALL
SELECT 'I8 a job and its hold end together in matching states', r.id::text, r.amount_micro::numeric
  FROM hold r LEFT JOIN media_job j ON j.id = r.id AND j.organization_id = r.organization_id
 WHERE r.owner = 'media_job' AND j.id IS NULL

-- I10: deliveries of jobs that ended long ago, and of deleted jobs, may have been removed by retention.
UNION ALL
SELECT 'I10 an ended job has exactly its webhook deliveries', j.id::text, count(w.id)::numeric
  FROM media_job j LEFT JOIN webhook_delivery w ON w.organization_id = j.organization_id AND w.job_id = j.id
 WHERE j.deleted_at IS NULL
   AND (j.completed_at IS NULL OR j.completed_at > clock_timestamp() - interval '29 days')
 GROUP BY j.organization_id, j.id
HAVING COALESCE(array_agg(w.event) FILTER (WHERE w.id IS NOT NULL), '{}')
       <> CASE WHEN j.webhook_url IS NULL THEN '{}'
               WHEN j.status = 'succeeded' THEN '{job.completed}'
               WHEN j.status = 'failed' THEN '{job.failed}'
               ELSE '{}' END::text[]

-- I13, I14: references of payments begin with their provider; those of refunds and disputes begin with the payment's.
UNION ALL
SELECT 'I13 a paid purchase has one top-up of its amount, and vice versa',
       COALESCE(p.id::text, l.organization_id || ' ' || l.reference),
       (COALESCE(p.amount_micro, 0) - COALESCE(l.amount_micro, 0))::numeric
  FROM (SELECT id, organization_id, provider || ':' || payment_reference AS reference, amount_micro
          FROM purchase WHERE state = 'paid') p
  FULL JOIN (SELECT organization_id, external_reference AS reference, amount_micro
               FROM ledger_posting WHERE kind = 'topup' AND external_reference ~ '^(stripe|test):') l
       USING (organization_id, reference)
 WHERE p.id IS NULL OR p.amount_micro IS DISTINCT FROM l.amount_micro
UNION ALL
SELECT 'I14 repayments of a purchase are booked or owed',
       COALESCE(p.id::text, l.organization_id || ' ' || l.reference),
       (COALESCE(p.taken_micro, 0) + COALESCE(l.delta_micro, 0))::numeric
  FROM (SELECT id, organization_id, provider || ':' || payment_reference AS reference,
               LEAST(amount_micro, refunded_micro + disputed_micro) - owed_micro AS taken_micro
          FROM purchase WHERE state = 'paid') p
  FULL JOIN (SELECT organization_id, substring(external_reference FROM '^[^:]+:[^:]+') AS reference,
                    sum(organization_delta_micro) AS delta_micro
               FROM ledger_posting
              WHERE kind IN ('refund', 'adjust') AND external_reference ~ '^(stripe|test):[^:]+:' GROUP BY 1, 2) l
       USING (organization_id, reference)
 WHERE COALESCE(p.taken_micro, 0) <> -COALESCE(l.delta_micro, 0)

-- I15, with I14: a refund that has failed is neither booked nor owed.
UNION ALL
SELECT 'I15 the refunded amount of a purchase matches its refunds', p.id::text,
       (p.refunded_micro - r.refunded_micro)::numeric
  FROM purchase p
  CROSS JOIN LATERAL (
    SELECT GREATEST(COALESCE(sum(amount_micro) FILTER (WHERE NOT has_failed), 0),
                    p.highest_refunded_micro - COALESCE(sum(amount_micro) FILTER (WHERE has_failed), 0)) AS refunded_micro
      FROM payment_refund WHERE provider = p.provider AND payment_reference = p.payment_reference) r
 WHERE p.state = 'paid' AND p.refunded_micro <> r.refunded_micro

-- I21: the latest entry of each organization; the others are checked with their day. See `balance_violations` about the two
-- orders. An account without an entry has no balance. An entry that charges of archived days may follow is not the latest one.
--
-- The latest charge belongs to an open day, or to the last closed day with charges of the organization and the 9 days before
-- it, so only these partitions are read. All are read where the balances disagree.
UNION ALL
SELECT 'I21 an entry leaves the balance before it plus itself', e.organization_id::text,
       (e.balance_micro - booked.balance_after_micro)::numeric
  FROM (SELECT a.organization_id, a.balance_micro
          FROM organization_account a
          LEFT JOIN (SELECT organization_id, first_id_of(max(day) - 9) AS low, last_id_of(max(day)) AS high
                       FROM ledger_closing WHERE charge_count > 0 GROUP BY 1) closed USING (organization_id),
               LATERAL (SELECT l.balance_after_micro FROM ledger_entry l
                         WHERE l.organization_id = a.organization_id
                           AND (l.reservation_id IS NULL
                                OR l.reservation_id >= (SELECT CASE WHEN isfinite(day) THEN first_id_of(day - 9)
                                                                    ELSE '00000000-0000-0000-0000-000000000000' END
                                                          FROM open_since)
                                OR l.reservation_id BETWEEN closed.low AND closed.high)
                         ORDER BY l.created_at DESC, l.id DESC LIMIT 1) latest
         WHERE latest.balance_after_micro <> a.balance_micro
        OFFSET 0) e,
       LATERAL (SELECT l.id, l.balance_after_micro FROM ledger_entry l WHERE l.organization_id = e.organization_id
                 ORDER BY l.id DESC LIMIT 1) booked
 WHERE booked.balance_after_micro <> e.balance_micro AND booked.id >= (SELECT ledger_last_archived_entry());
