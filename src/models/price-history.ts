import type { PriceVersion } from './catalog-model';

/** The version in force, and the period for which it is: `fromMs` inclusive, `untilMs` exclusive. */
export interface ActivePrice {
  readonly version: PriceVersion | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Finds the version in force at `nowMs`: of those that have begun and not ended, an operator's before those of the files, and
 * of equals the one that began last. A temporary price therefore overrides a permanent one until it ends, and new files do
 * not override a price of an operator.
 */
export function findActivePrice(history: readonly PriceVersion[], nowMs: number): ActivePrice {
  let version: PriceVersion | null = null;
  let fromMs = -Infinity;
  let untilMs = Infinity;
  for (const each of history) {
    const endMs = each.effectiveToMs ?? Infinity;
    for (const boundaryMs of [each.effectiveFromMs, endMs]) {
      if (boundaryMs <= nowMs) fromMs = Math.max(fromMs, boundaryMs);
      else untilMs = Math.min(untilMs, boundaryMs);
    }
    const inForce = each.effectiveFromMs <= nowMs && nowMs < endMs;
    if (inForce && (version === null || goesBefore(each, version))) version = each;
  }
  return { version, fromMs, untilMs };
}

function goesBefore(one: PriceVersion, other: PriceVersion): boolean {
  if (one.byOperator !== other.byOperator) return one.byOperator;
  return one.effectiveFromMs > other.effectiveFromMs;
}
