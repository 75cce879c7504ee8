import type { MicroAmount } from './money';

/** The available credit: the balance without the holds for requests in flight. */
export function availableMicro(balance: MicroAmount, reserved: MicroAmount): bigint {
  return BigInt(balance) - BigInt(reserved);
}

/** The amount as a deduction. */
export function negatedMicro(amount: MicroAmount): MicroAmount {
  return Number(-BigInt(amount));
}
