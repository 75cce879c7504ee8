import type { MicroAmount } from './money';

/** The available credit: the balance without the holds for requests in flight. */
export function availableMicro(balance: MicroAmount, reserved: MicroAmount): bigint {
  return BigInt(balance) - BigInt(reserved);
}

/** The amount as a deduction. */
export function negatedMicro(amount: MicroAmount): MicroAmount {
  return Number(-BigInt(amount));
}

/** Share of failed requests in tenths of a percent, rounded down; null without requests. */
export function errorRateInTenths(errors: number, requests: number): number | null {
  return requests === 0 ? null : Number((BigInt(errors) * 1000n) / BigInt(requests));
}

/** The limit that applies: the lowest one that is set; null without any. */
export function lowestLimit(limits: ReadonlyArray<MicroAmount | null>): MicroAmount | null {
  const set = limits.filter((limit) => limit !== null);
  return set.length === 0 ? null : Math.min(...set);
}
