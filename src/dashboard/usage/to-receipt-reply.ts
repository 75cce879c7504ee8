import type { PricedUnit } from '../../billing/pricing/price';
import type { Micro } from '../../core/types/micro';
import { microToJson } from '../../core/types/micro';
import type { UsageAttempt, UsageLine, UsagePrice, UsageReceipt, UsageTokens } from '../../contract/dashboard';
import type { UsageVector } from '../../providers/contract/usage';
import type { ChargeLine } from '../../billing/usage/explain-charge';
import type { Receipt } from '../../billing/usage/request-log.service';
import type { ChargedPrice, RequestDetails } from '../../billing/usage/usage.types';
import { toRequestFields } from './to-request-reply';

export function toReceiptReply({ request, price, lines }: Receipt): UsageReceipt {
  return {
    object: 'usage.receipt',
    ...toRequestFields(request),
    tokens: toTokens(request.usage),
    hold_micro: microToJson(request.holdMicro),
    uncollected_micro: microToJson(request.uncollectedMicro),
    price: price === null ? null : toPrice(price),
    lines: lines.map(toLine),
    attempts: toAttempts(request),
    job_id: request.hasJob ? request.id : null,
  };
}

function toTokens(usage: UsageVector): UsageTokens {
  return {
    input_text: usage.inputText,
    input_cache_read: usage.inputCacheRead,
    input_cache_write_5m: usage.inputCacheWrite5m,
    input_cache_write_1h: usage.inputCacheWrite1h,
    input_image: usage.inputImage,
    input_audio: usage.inputAudio,
    output_text: usage.outputText,
    output_reasoning: usage.outputReasoning,
    output_image: usage.outputImage,
    output_audio: usage.outputAudio,
  };
}

const UNITS = {
  inputText: 'input_text',
  inputCacheRead: 'input_cache_read',
  inputCacheWrite5m: 'input_cache_write_5m',
  inputCacheWrite1h: 'input_cache_write_1h',
  inputImage: 'input_image',
  inputAudio: 'input_audio',
  outputText: 'output_text',
  outputReasoning: 'output_reasoning',
  outputImage: 'output_image',
  outputAudio: 'output_audio',
  image: 'image',
  video_second: 'video_second',
  video_job: 'video_job',
  music_second: 'music_second',
  music_job: 'music_job',
  transcription_minute: 'transcription_minute',
  character: 'character',
  request: 'request',
  vendor_cost_micro: 'vendor_cost_micro',
  vendor_unit: 'vendor_unit',
  megapixel: 'megapixel',
  uncollected: 'uncollected',
  correction: 'correction',
} as const satisfies Readonly<Record<PricedUnit | ChargeLine['unit'], UsageLine['unit']>>;

function toLine({ unit, quantity, rateMicro, per, costMicro }: ChargeLine): UsageLine {
  return { unit: UNITS[unit], quantity, rate_micro: toAmount(rateMicro), per, cost_micro: microToJson(costMicro) };
}

function toAmount(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}

function toPrice(price: ChargedPrice): UsagePrice {
  return {
    id: price.id,
    model: price.modelId,
    deployment_id: price.deploymentId,
    effective_from: price.effectiveFrom.toISOString(),
    effective_to: price.effectiveTo?.toISOString() ?? null,
    content: { ...price.content },
  };
}

/** A single successful attempt is not logged; it is derived from the request. */
function toAttempts(request: RequestDetails): UsageAttempt[] {
  const { attempts, attemptLog, provider, deploymentId, httpStatus, errorCode, totalMs } = request;
  if (attemptLog !== null) {
    return attemptLog.map(({ deployment, ...note }, index) => ({
      number: index + 1,
      deployment_id: deployment,
      ...note,
      started_ms: note.started_ms ?? null,
    }));
  }
  if (attempts === 0 || provider === null || deploymentId === null) return [];
  const outcome = errorCode ?? (httpStatus < 400 ? 'success' : 'canceled');
  return [{ number: attempts, provider, deployment_id: deploymentId, outcome, started_ms: null, duration_ms: totalMs }];
}
