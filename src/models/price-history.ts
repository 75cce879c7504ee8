import type { PriceVersion } from './catalog-model';

/** The version in force, and the time during which that answer holds: `fromMs` inclusive, `untilMs` exclusive. */
export interface ActivePrice {
  readonly version: PriceVersion | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Finds the version in force at `nowMs`: of those that have begun and not ended, an operator's before those of the files,
 * and of equals the one that began last. A temporary price therefore lies over a lasting one, which comes back when the
 * temporary one ends; and whatever new files bring, a price that an operator has set stays.
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
