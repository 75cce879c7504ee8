/**
 * Money is `bigint` micro-units inside the process (1 unit = 1 USD = 1,000,000 micro) and an integer on the wire.
 * No amount ever passes through a floating-point operation.
 */
export type Micro = bigint;

/** An amount as a JSON integer. Nine billion dollars do not fit, and must not be rounded silently. */
export function microToJson(amount: Micro): number {
  if (amount > BigInt(Number.MAX_SAFE_INTEGER) || amount < BigInt(Number.MIN_SAFE_INTEGER)) {
    throw new RangeError(`${amount} micro-units cannot be written as an exact JSON integer`);
  }
  return Number(amount);
}

/** Division that rounds up: the one rounding rule of the service. Both operands are positive. */
export function divideCeiling(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
