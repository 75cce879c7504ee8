import type { Pool } from 'pg';

const COLUMNS = 'requests, minutes, input_tokens, output_tokens, charged_micro';
const SUMS = `sum(requests) AS requests, bit_or(minutes) AS minutes, sum(input_tokens) AS input_tokens,
  sum(output_tokens) AS output_tokens, sum(charged_micro) AS charged_micro`;

/** Counts the receipts independently of `money_finish`. */
const RECORDS = `
  SELECT organization_id, key_id, model, operation,
         CASE WHEN status >= 400 THEN COALESCE(error_code, 'canceled') ELSE 'success' END AS outcome,
         to_timestamp(floor(extract(epoch FROM created_at) / 3600) * 3600) AS hour, 1::bigint AS requests,
         1::bigint << floor(mod(floor(extract(epoch FROM created_at)), 3600) / 60)::integer AS minutes,
         (SELECT sum(count) FROM unnest(ARRAY[input_text, input_cache_read, input_cache_write_5m, input_cache_write_1h,
                                              input_image, input_audio]) count) AS input_tokens,
         (SELECT sum(count) FROM unnest(ARRAY[output_text, output_reasoning, output_image, output_audio]) count)
           AS output_tokens, charged_micro
    FROM usage_record`;

/** One row per group of requests whose totals and deltas differ from the receipts; one snapshot. */
const DRIFT = ['hour', 'day']
  .flatMap((span) => [
    driftOf('usage_by_model', span, 'model, operation, outcome'),
    driftOf('usage_by_key', span, 'key_id, outcome'),
  ])
  .join(' UNION ALL ');

function driftOf(table: string, span: string, keys: string): string {
  const counted = `
    SELECT organization_id, starts_at, ${keys}, ${COLUMNS} FROM ${table} WHERE span = '${span}'
    UNION ALL
    SELECT organization_id, date_trunc('${span}', hour, 'UTC'), ${keys}, ${inSpan(span)} FROM usage_delta`;
  const real = `SELECT organization_id, date_trunc('${span}', hour, 'UTC') AS starts_at, ${keys}, ${inSpan(span)} FROM records`;
  const sums = (rows: string) =>
    `SELECT organization_id, starts_at, ${keys}, ${SUMS} FROM (${rows}) r GROUP BY organization_id, starts_at, ${keys}`;
  return `
    SELECT '${table} ${span}' AS place, count(*)::integer AS groups FROM (
      ((${sums(counted)}) EXCEPT (${sums(real)})) UNION ALL ((${sums(real)}) EXCEPT (${sums(counted)}))
    ) difference HAVING count(*) > 0`;
}

function inSpan(span: string): string {
  return span === 'hour' ? COLUMNS : COLUMNS.replace('minutes', 'NULL::bigint AS minutes');
}

export async function findUsageDrift(pool: Pool): Promise<{ place: string; groups: number }[]> {
  return (await pool.query<{ place: string; groups: number }>(`WITH records AS (${RECORDS}) ${DRIFT}`)).rows;
}
