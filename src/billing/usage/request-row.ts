import type { PricedDetails } from '../pricing/price';
import type { AttemptNote } from '../ledger/usage-record';
import type { Operation } from './operations';
import type { RequestDetails, RequestSummary } from './usage.types';

/** A row of `usage_record` as lists read it. `bigint` columns are text. */
export interface RequestRow {
  readonly id: string;
  readonly created_at_text: string;
  readonly key_id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly operation: Operation;
  readonly status: number;
  readonly error_code: string | null;
  readonly streamed: boolean;
  readonly usage_estimated: boolean;
  readonly attempts: number;
  readonly first_token_ms: number | null;
  readonly total_ms: number;
  readonly charged_micro: string;
  readonly input_text: string;
  readonly input_cache_read: string;
  readonly input_cache_write_5m: string;
  readonly input_cache_write_1h: string;
  readonly input_image: string;
  readonly input_audio: string;
  readonly output_text: string;
  readonly output_reasoning: string;
  readonly output_image: string;
  readonly output_audio: string;
  readonly images: string;
  readonly seconds: number;
  readonly characters: string;
}

export interface RequestDetailsRow extends RequestRow {
  readonly deployment_id: string | null;
  readonly price_version_id: string | null;
  readonly hold_micro: string;
  readonly uncollected_micro: string;
  readonly attempt_log: AttemptNote[] | null;
  readonly priced_by: PricedDetails | null;
  readonly has_job: boolean;
}

export function toSummary(row: RequestRow): RequestSummary {
  return {
    id: row.id,
    createdAt: row.created_at_text,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    operation: row.operation,
    httpStatus: row.status,
    errorCode: row.error_code,
    streamed: row.streamed,
    usage: {
      inputText: Number(row.input_text),
      inputCacheRead: Number(row.input_cache_read),
      inputCacheWrite5m: Number(row.input_cache_write_5m),
      inputCacheWrite1h: Number(row.input_cache_write_1h),
      inputImage: Number(row.input_image),
      inputAudio: Number(row.input_audio),
      outputText: Number(row.output_text),
      outputReasoning: Number(row.output_reasoning),
      outputImage: Number(row.output_image),
      outputAudio: Number(row.output_audio),
      images: Number(row.images),
      seconds: row.seconds,
      characters: Number(row.characters),
    },
    usageEstimated: row.usage_estimated,
    attempts: row.attempts,
    firstTokenMs: row.first_token_ms,
    totalMs: row.total_ms,
    chargedMicro: BigInt(row.charged_micro),
  };
}

export function toDetails(row: RequestDetailsRow): RequestDetails {
  return {
    ...toSummary(row),
    deploymentId: row.deployment_id,
    priceVersionId: row.price_version_id,
    holdMicro: BigInt(row.hold_micro),
    uncollectedMicro: BigInt(row.uncollected_micro),
    attemptLog: row.attempt_log,
    pricedBy: row.priced_by,
    hasJob: row.has_job,
  };
}
