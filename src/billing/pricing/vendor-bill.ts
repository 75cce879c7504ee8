import type { Micro } from '../../core/types/micro';
import type { Price } from '../../models/catalog-model';
import type { UsageVector } from '../../providers/contract/usage';

/** The part of a vendor's bill that a price charges. */
export interface BillPrice {
  readonly unit: 'vendor_cost_micro' | 'vendor_unit' | 'megapixel';
  /** Positive and finite; charged exactly as its decimal text states. */
  readonly quantity: number;
  /** For `per` units. */
  readonly rateMicro: number;
  readonly per: number;
}

/** `null`: the price does not charge what the vendor reported, or the vendor reported nothing. */
export function billPriceOf({ vendor_cost, unit, megapixel }: Price, usage: UsageVector): BillPrice | null {
  const { vendorCostMicro, units, megapixels } = usage;
  if (vendor_cost !== undefined && isCharged(vendorCostMicro)) {
    return {
      unit: 'vendor_cost_micro',
      quantity: vendorCostMicro,
      rateMicro: vendor_cost.per_usd_micro,
      per: 1_000_000,
    };
  }
  if (unit !== undefined && isCharged(units)) {
    return { unit: 'vendor_unit', quantity: units, rateMicro: unit.per_unit_micro, per: 1 };
  }
  if (megapixel !== undefined && isCharged(megapixels)) {
    return { unit: 'megapixel', quantity: megapixels, rateMicro: megapixel.per_megapixel_micro, per: 1 };
  }
  return null;
}

/** A bill of zero counts as no bill, so that no result is free by mistake. */
function isCharged(quantity: number | undefined): quantity is number {
  return quantity !== undefined && quantity > 0;
}

/** As a percentage of the list price. */
const TOLERANCE = 5n;

/** Whether a bill differs so much from the catalogue's rows that these are probably out of date. */
export function differsFromList(billedMicro: Micro, listedMicro: Micro): boolean {
  const difference = billedMicro > listedMicro ? billedMicro - listedMicro : listedMicro - billedMicro;
  return difference * 100n > listedMicro * TOLERANCE;
}
