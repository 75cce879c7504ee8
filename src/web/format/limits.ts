import type { MicroAmount } from './money';

/** The limit that applies when there are several; null is none. */
export function lowestLimit(limits: ReadonlyArray<MicroAmount | null>): MicroAmount | null {
  const set = limits.filter((limit) => limit !== null);
  return set.length === 0 ? null : Math.min(...set);
}
