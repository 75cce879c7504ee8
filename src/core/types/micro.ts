/**
 * Money is `bigint` micro-units inside the process (1 unit = 1 USD = 1,000,000 micro) and an integer on the wire. No
 * amount ever passes through a floating-point operation.
 */
export type Micro = bigint;

/** The largest amount: 2^53 - 1, some nine billion USD. No balance, limit or budget may exceed it. */
export const MAX_MICRO: Micro = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * An amount as a JSON integer, clamped to {@link MAX_MICRO} in both directions. Only sums, and balances older than the
 * limit, can exceed it; a single one must not break a whole list.
 */
export function microToJson(amount: Micro): number {
  if (amount > MAX_MICRO) return Number.MAX_SAFE_INTEGER;
  return amount < -MAX_MICRO ? Number.MIN_SAFE_INTEGER : Number(amount);
}
