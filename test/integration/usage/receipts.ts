import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

export interface ManyReceipts {
  readonly organizationId: string;
  readonly count: number;
  /** Spreads the receipts evenly over this many past hours. */
  readonly hours: number;
  /** Hours from now to the last of them. Default 0. */
  readonly endsInHours?: number;
  /** Default 1. */
  readonly keys?: number;
  /** Default 1. */
  readonly models?: number;
}

const INSERT = `
  WITH receipt AS (
    INSERT INTO usage_record (id, organization_id, key_id, created_at, hold_micro, charged_micro, uncollected_micro,
       input_text, input_cache_read, input_cache_write_5m, input_cache_write_1h, input_image, input_audio, output_text,
       output_reasoning, output_image, output_audio, images, characters, seconds, first_token_ms, total_ms, attempts,
       status, streamed, usage_estimated, operation, model, provider, deployment_id, error_code)
    SELECT (lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), 12, '0') || '7000' ||
              substr(md5(n::text || $5), 1, 16))::uuid,
           $1, ('00000000-0000-4000-8000-' || lpad((hashtext('key' || n) & 2147483647) % $3 || '', 12, '0'))::uuid, created_at,
           1000, CASE WHEN n % 100 = 0 THEN 0 ELSE 100 + n % 700 END, 0, 100 + n % 50, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0,
           20 + n % 200, 300 + n % 601, 1, CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END, true, false, 'createChatCompletion',
           'vendor/model-' || (hashtext('model' || n) & 2147483647) % $4, 'mock', 'mock-chat',
           CASE WHEN n % 100 = 0 THEN 'provider_unavailable' END
      FROM generate_series(1, $2::integer) n,
           LATERAL (SELECT now() + make_interval(secs => $7 * 3600.0 - ($2 - n) * ($6 * 3600.0 / $2)) AS created_at) time
    RETURNING *
  )
  INSERT INTO usage_delta (organization_id, key_id, hour, model, operation, outcome, requests, minutes, input_tokens,
    output_tokens, charged_micro, latency)
  SELECT organization_id, key_id, date_trunc('hour', created_at, 'UTC'), model, operation,
         COALESCE(error_code, 'success'), count(*),
         bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer), sum(input_text),
         sum(output_text), sum(charged_micro),
         CASE WHEN error_code IS NULL THEN array_agg(256 + usage_latency_step(total_ms))
                                           || array_agg(384 + usage_latency_step(first_token_ms)) END
    FROM receipt GROUP BY 1, 2, 3, 4, 5, 6, error_code`;

/**
 * Generates receipts with ids in chronological order, like real ones. Key n is `keyIdOf(n)`, model n `vendor/model-n`,
 * all equally frequent; one request in a hundred has failed.
 */
export async function insertReceipts(pool: Pool, receipts: ManyReceipts): Promise<void> {
  const { organizationId, count, hours, endsInHours = 0, keys = 1, models = 1 } = receipts;
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL gateway.counts_receipts = on');
    await client.query(INSERT, [organizationId, count, keys, models, randomUUID(), hours, endsInHours]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

export function keyIdOf(key: number): string {
  return `00000000-0000-4000-8000-${String(key).padStart(12, '0')}`;
}
