import type { MicroAmount } from './money';

/** What one purchase may be. `pages.spec.ts` of test/conformance compares it with the document. */
export const PURCHASE_RANGE = { leastMicro: 1_000_000, mostMicro: 10_000_000_000 } as const;

/** The highest numbers that the API takes, held to the document by the same test. */
export const MOST = {
  organizationKeys: 10_000,
  keyWeight: 1_000,
  deploymentPriority: 1_000,
  deploymentWeight: 1_000,
  /** As lower bounds of a filter. */
  filteredCostMicro: 1_000_000_000_000,
  filteredDurationMs: 2_147_483_647,
} as const;

/** The limit that applies when there are several; null is none. */
export function lowestLimit(limits: ReadonlyArray<MicroAmount | null>): MicroAmount | null {
  const set = limits.filter((limit) => limit !== null);
  return set.length === 0 ? null : Math.min(...set);
}
