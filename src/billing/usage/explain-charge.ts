import { type CompiledPrice, estimating, type PricedUnit } from '../pricing/price';
import type { Micro } from '../../core/types/micro';
import type { RequestDetails } from './usage.types';

/** One line of a charge, or of a deduction from it. */
export interface ChargeLine {
  /** `uncollected`: not covered by the balance; `correction`: used but not charged. */
  readonly unit: PricedUnit | 'uncollected' | 'correction';
  /** `null`, like the next two fields, for lines without a quantity. */
  readonly quantity: number | null;
  readonly rateMicro: Micro | null;
  readonly per: number | null;
  readonly costMicro: Micro;
}

/**
 * Breaks down the charge of a request: its usage at the rates of its price version, then deductions. The charge of a
 * job or of implausible usage is limited to its hold; a failed request costs nothing. The lines sum up to the charge.
 * @param price `null`: the version is unknown.
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
