import { type CompiledPrice, estimating, type PricedUnit } from '../billing/price';
import type { Micro } from '../common/micro';
import type { RequestDetails } from './usage.types';

/** A part of what a request was charged, or of what it was not. */
export interface ChargeLine {
  /** `uncollected`: what the balance did not cover; `correction`: what was not charged although it was used. */
  readonly unit: PricedUnit | 'uncollected' | 'correction';
  /** `null`, as the next two, of what is not counted. */
  readonly quantity: number | null;
  readonly rateMicro: Micro | null;
  readonly per: number | null;
  readonly costMicro: Micro;
}

/**
 * How the charge of a request came about: what it used, at the prices of its version, then what keeps the charge from being
 * that. A job costs no more than was held for it, usage that cannot be true no more than its hold, and a request that
 * failed nothing. The sum is the charge.
 * @param price `null`: no version is known.
 */
export function explainCharge(request: RequestDetails, price: CompiledPrice | null): ChargeLine[] {
  const { chargedMicro, uncollectedMicro, usage, usageEstimated, pricedBy, httpStatus } = request;
  const costMicro = chargedMicro + uncollectedMicro;
  if (costMicro === 0n && httpStatus >= 400) return [];
  const details = usageEstimated ? estimating(pricedBy ?? undefined) : (pricedBy ?? undefined);
  const lines: ChargeLine[] = [...(price?.lines(usage, details) ?? [])];
  const usedMicro = lines.reduce((sum, line) => sum + line.costMicro, 0n);
  if (usedMicro !== costMicro) lines.push(uncounted('correction', costMicro - usedMicro));
  if (uncollectedMicro > 0n) lines.push(uncounted('uncollected', -uncollectedMicro));
  return lines;
}

function uncounted(unit: ChargeLine['unit'], costMicro: Micro): ChargeLine {
  return { unit, quantity: null, rateMicro: null, per: null, costMicro };
}
