import { type CompiledPrice, divideCeiling, type PricedDetails } from '../billing/pricing/price';
import { GatewayError } from '../core/errors/gateway-error';
import { microToJson, type Micro } from '../core/types/micro';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import type { JobKind, JobSettings } from './media-job.types';

/** The amount held for a job, and the job's maximum cost. */
export interface JobHold {
  readonly holdMicro: Micro;
  readonly maxCostMicro: Micro;
}

/** The cost of `seconds` at the requested settings; `null` when the price has no row for them. */
export function jobCostMicro(price: CompiledPrice, settings: JobSettings, seconds: number): Micro | null {
  return jobUsageCostMicro(price, settings, { ...NO_USAGE, seconds });
}

/** The cost of a result, charged by the vendor's bill if the price says so. */
export function jobUsageCostMicro(price: CompiledPrice, settings: JobSettings, usage: UsageVector): Micro | null {
  return price.costMicro(usage, pricedDetailsOf(settings) ?? undefined);
}

/**
 * The estimated cost at the most expensive deployment of the route.
 * @throws GatewayError `model_not_found` when a deployment has no price for the settings
 */
export function estimateJobMicro(prices: readonly CompiledPrice[], model: string, settings: JobSettings): Micro {
  let most = 0n;
  for (const price of prices) {
    const cost = jobCostMicro(price, settings, settings.durationSeconds);
    if (cost === null) throw new GatewayError('model_not_found', `${model} has no price for this request.`);
    if (cost > most) most = cost;
  }
  return most;
}

/**
 * The hold: 1.5 times the estimate for a video, the estimate for music, at most the caller's cap.
 * @throws GatewayError `validation_failed` for a cap below the estimate
 */
export function holdForJob(kind: JobKind, estimateMicro: Micro, capMicro: Micro | null): JobHold {
  const fullMicro = kind === 'video' ? divideCeiling(estimateMicro * 3n, 2n) : estimateMicro;
  if (capMicro === null) return { holdMicro: fullMicro, maxCostMicro: fullMicro };
  if (capMicro < estimateMicro) {
    throw new GatewayError('validation_failed', 'max_cost_micro is below the estimated cost of this request.', {
      param: 'max_cost_micro',
      details: { estimated_cost_micro: microToJson(estimateMicro) },
    });
  }
  return { holdMicro: fullMicro < capMicro ? fullMicro : capMicro, maxCostMicro: capMicro };
}

/** The settings that select a price row; `null` for music, which has one price. */
export function pricedDetailsOf(settings: JobSettings): PricedDetails | null {
  if (!('audio' in settings)) return null;
  const { resolution, audio } = settings;
  return resolution === null ? { audio } : { resolution, audio };
}
