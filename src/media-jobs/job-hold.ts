import type { CompiledPrice, PricedDetails } from '../billing/price';
import { GatewayError } from '../common/errors/gateway-error';
import { divideCeiling, microToJson, type Micro } from '../common/micro';
import { NO_USAGE } from '../providers/contract/usage';
import type { JobKind, JobSettings } from './media-job.types';

/** What is reserved for a job, and the cap that it was given (contract 2.1). */
export interface JobHold {
  readonly holdMicro: Micro;
  readonly maxCostMicro: Micro;
}

/** What so many seconds cost in the quality that the settings ask for; `null`: the price says nothing about that. */
export function jobCostMicro(price: CompiledPrice, settings: JobSettings, seconds: number): Micro | null {
  return price.costMicro({ ...NO_USAGE, seconds }, pricedDetailsOf(settings) ?? undefined);
}

/**
 * What a job is expected to cost at the dearest of the deployments that may make it.
 * @throws GatewayError `model_not_found` where one has no price for what is asked (decision *unpriced*)
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
 * What is reserved: one and a half estimates for a video, the estimate for music, at most the caller's cap (decisions
 * *hold-video*, *hold-music*).
 * @throws GatewayError `validation_failed` for a cap below the estimate: it would buy a job for less than it costs
 */
export function holdForJob(kind: JobKind, estimateMicro: Micro, capMicro: Micro | null): JobHold {
  const fullMicro = kind === 'video' ? divideCeiling(estimateMicro * 3n, 2n) : estimateMicro;
  if (capMicro === null) return { holdMicro: fullMicro, maxCostMicro: fullMicro };
  if (capMicro < estimateMicro) {
    throw new GatewayError('validation_failed', 'max_cost_micro is less than this request is expected to cost.', {
      param: 'max_cost_micro',
      details: { estimated_cost_micro: microToJson(estimateMicro) },
    });
  }
  return { holdMicro: fullMicro < capMicro ? fullMicro : capMicro, maxCostMicro: capMicro };
}

/** What chooses the row of the price besides the seconds; `null`: nothing. */
export function pricedDetailsOf(settings: JobSettings): PricedDetails | null {
  if (!('audio' in settings)) return null;
  const { resolution, audio } = settings;
  return resolution === null ? { audio } : { resolution, audio };
}
