import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `record_violations`: what `ledger verify` checks besides `money_violations`. It reads and digests all receipts, totals and
 * stored answers, which takes too long for the repeated audit.
 */
export class AuditRecords1795700003002 implements MigrationInterface {
  readonly name = 'AuditRecords1795700003002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE VIEW record_violations AS ${ORPHANS} UNION ALL ${RECEIPTS} UNION ALL ${TOTALS} UNION ALL ${ANSWERS}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW record_violations');
  }
}

/**
 * While no process has a lease, nothing will end these holds. `money_violations` leaves them out: its readers are processes
 * that sweep, and just after an outage of the database none of them has renewed its lease.
 */
const ORPHANS = `
  SELECT 'I9 no orphaned hold is older than 30 seconds' AS invariant, r.id::text AS subject,
         r.amount_micro::numeric AS difference_micro
    FROM reservation r LEFT JOIN gateway_instance g ON g.id = r.owner
   WHERE r.state = 'held'
     AND CASE r.owner WHEN 'media_job' THEN r.expires_at
                      ELSE LEAST(r.expires_at, COALESCE(g.heartbeat_at, r.created_at)) END
         < clock_timestamp() - interval '30 seconds'
     AND NOT EXISTS (SELECT FROM gateway_instance s WHERE s.heartbeat_at > clock_timestamp() - interval '30 seconds')`;

/** Without a row of `receipt_history` everything is expected to be there. */
const KEPT_SINCE = `COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')`;
const SEALED_SINCE = `COALESCE((SELECT max(sealed_since) FROM receipt_history), '-infinity')`;

/** Holds that expire have no receipt, and others that end without a charge need none. */
const RECEIPTS = `
  SELECT 'I16 a charge has its receipt, and both say the same', COALESCE(u.id, r.id)::text,
         (COALESCE(u.charged_micro + u.uncollected_micro, 0)
          - COALESCE(r.charged_micro + r.uncollected_micro, 0))::numeric
    FROM reservation r FULL JOIN usage_record u ON u.id = r.id
   WHERE CASE WHEN u.id IS NULL THEN r.state = 'settled' AND r.ended_at >= ${KEPT_SINCE}
              WHEN r.id IS NULL THEN true
              ELSE r.state = 'held'
                   OR (u.organization_id, u.key_id, u.hold_micro, u.charged_micro, u.uncollected_micro)
                      IS DISTINCT FROM
                      (r.organization_id, r.key_id, r.amount_micro, COALESCE(r.charged_micro, 0), r.uncollected_micro)
         END
  UNION ALL
  SELECT 'I17 a receipt is as it was written', u.id::text, u.charged_micro::numeric
    FROM usage_record u
   WHERE u.digest IS DISTINCT FROM usage_record_digest(u) AND (u.digest IS NOT NULL OR u.created_at >= ${SEALED_SINCE})
  UNION ALL
  SELECT 'I17 a receipt is as it was written', 'receipt_history', 0
    FROM (SELECT max(kept_since) AS kept_since, max(sealed_since) AS sealed_since FROM receipt_history) h
   WHERE h.sealed_since IS NULL OR GREATEST(h.kept_since, h.sealed_since) > clock_timestamp()`;

const COUNTS = ['requests', 'minutes', 'input_tokens', 'output_tokens', 'charged_micro'] as const;
const SUMS = COUNTS.map((name) => `${name === 'minutes' ? 'bit_or' : 'sum'}(${name}) AS ${name}`).join(', ');

/** As `usage_record_is_counted` has it. */
const GROUPS = `
  count(*) AS requests,
  bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer) AS minutes,
  sum(input_text + input_cache_read + input_cache_write_5m + input_cache_write_1h + input_image + input_audio)
    AS input_tokens,
  sum(output_text + output_reasoning + output_image + output_audio) AS output_tokens, sum(charged_micro) AS charged_micro`;
const OUTCOME = `CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END`;

/** Two sums over the same columns; rows that one of them lacks show, too. */
function compare(left: string, right: string, columns: readonly string[], counts: readonly string[]): string {
  const of = (side: string): string => counts.map((name) => `${side}.${name}`).join(', ');
  return `
  SELECT 'I18 totals are the sums of the receipts', concat_ws(' ', ${columns.join(', ')}),
         (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
    FROM (${left}) t FULL JOIN (${right}) u USING (${columns.join(', ')})
   WHERE (${of('t')}) IS DISTINCT FROM (${of('u')})`;
}

/** The first whole hour of which no receipt has been removed. */
const FIRST_HOUR = `date_trunc('hour', ${KEPT_SINCE} + interval '3599.999999 seconds', 'UTC')`;

/** Hours of totals and deltas against receipts, and days against hours: `columns` tell the rows of `table` apart. */
function totalsOf(table: string, columns: readonly string[]): string {
  const names = columns.join(', ');
  const byHour = ['organization_id', 'starts_at', ...columns, 'outcome'];
  const group = `GROUP BY ${byHour.map((_name, index) => index + 1).join(', ')}`;
  const counted = `
    SELECT ${byHour.join(', ')}, ${SUMS}
      FROM (SELECT ${byHour.join(', ')}, ${COUNTS.join(', ')} FROM ${table}
             WHERE span = 'hour' AND starts_at >= ${FIRST_HOUR}
            UNION ALL
            SELECT organization_id, hour, ${names}, outcome, ${COUNTS.join(', ')} FROM usage_delta
             WHERE hour >= ${FIRST_HOUR}) hours ${group}`;
  const received = `
    SELECT organization_id, date_trunc('hour', created_at, 'UTC') AS starts_at, ${names}, ${OUTCOME} AS outcome, ${GROUPS}
      FROM usage_record WHERE created_at >= ${FIRST_HOUR} ${group}`;
  const sums = COUNTS.filter((name) => name !== 'minutes');
  const days = `SELECT ${byHour.join(', ')}, ${sums.join(', ')} FROM ${table} WHERE span = 'day'`;
  const hours = `
    SELECT organization_id, date_trunc('day', starts_at, 'UTC') AS starts_at, ${names}, outcome,
           ${sums.map((name) => `sum(${name}) AS ${name}`).join(', ')}
      FROM ${table} WHERE span = 'hour' ${group}`;
  return `${compare(counted, received, byHour, COUNTS)} UNION ALL ${compare(days, hours, byHour, sums)}`;
}

/** Totals by model and by key are folded together, so that they agree however old they are. */
function daysOf(table: string): string {
  return `
    SELECT organization_id, starts_at, outcome, sum(requests) AS requests, sum(input_tokens) AS input_tokens,
           sum(output_tokens) AS output_tokens, sum(charged_micro) AS charged_micro
      FROM ${table} WHERE span = 'day' GROUP BY 1, 2, 3`;
}

const TOTALS = `${totalsOf('usage_by_model', ['model', 'operation'])}
  UNION ALL ${totalsOf('usage_by_key', ['key_id'])}
  UNION ALL ${compare(
    daysOf('usage_by_model'),
    daysOf('usage_by_key'),
    ['organization_id', 'starts_at', 'outcome'],
    COUNTS.filter((name) => name !== 'minutes'),
  )}`;

/** A record whose time is over may be gone, and a body without a record is waiting to be removed. */
const ANSWERS = `
  SELECT 'I19 a stored answer is there, and as it was given', COALESCE(s.reservation_id, d.reservation_id)::text,
         COALESCE(d.charged_micro, 0)::numeric
    FROM idempotency_seal s
    FULL JOIN (SELECT * FROM idempotency_record WHERE state = 'completed') d ON d.reservation_id = s.reservation_id
   WHERE CASE WHEN d.reservation_id IS NULL THEN s.expires_at > clock_timestamp()
              ELSE s.digest IS DISTINCT FROM idempotency_record_digest(d) END
  UNION ALL
  SELECT 'I19 a stored answer is there, and as it was given', COALESCE(b.reservation_id, d.reservation_id)::text,
         COALESCE(d.charged_micro, 0)::numeric
    FROM idempotency_body b
    FULL JOIN (SELECT * FROM idempotency_record WHERE state = 'completed' AND body_stored) d
         ON d.reservation_id = b.reservation_id AND d.organization_id = b.organization_id
   WHERE CASE WHEN b.reservation_id IS NULL THEN true
              ELSE b.digest IS DISTINCT FROM idempotency_body_digest(b.reservation_id, b.organization_id, b.head, b.tail)
                   AND (b.digest IS NOT NULL OR b.created_at >= ${SEALED_SINCE}) END
  UNION ALL
  SELECT 'I20 what an organization has stored is the sum of its answers', organization_id::text,
         (COALESCE(s.stored_bytes, 0) - COALESCE(b.bytes, 0))::numeric
    FROM idempotency_storage s
    FULL JOIN (SELECT organization_id, sum(octet_length(head) + COALESCE(octet_length(tail), 0)) AS bytes
                 FROM idempotency_body GROUP BY 1) b USING (organization_id)
   WHERE COALESCE(s.stored_bytes, 0) <> COALESCE(b.bytes, 0)`;
