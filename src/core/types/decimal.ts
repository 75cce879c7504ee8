/** The number `digits` / 10^`scale`. */
export interface Decimal {
  readonly digits: bigint;
  /** Not negative. */
  readonly scale: number;
}

const DECIMAL = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * The exact value of the shortest text of a finite number. For a JSON number of up to 15 digits, that is the value the
 * sender wrote. Arithmetic with the double itself would add rounding errors.
 * @throws RangeError for `NaN` and infinities
 */
export function toDecimal(value: number): Decimal {
  const [text, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(String(value)) ?? [];
  if (text === undefined) throw new RangeError(`${value} is no decimal number`);
  const digits = BigInt(whole + fraction);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/** The number nearest to `value` times 10^`places`; exact for up to 15 digits. */
export function shiftDecimal(value: number, places: number): number {
  const { digits, scale } = toDecimal(value);
  return Number(`${digits}e${places - scale}`);
}

/** The number nearest to the exact sum of two decimal numbers: 0.1 and 0.2 are 0.3. */
export function addDecimals(one: number, other: number): number {
  const sum = one + other;
  if (!Number.isFinite(sum)) return sum;
  const [left, right] = [toDecimal(one), toDecimal(other)];
  const scale = Math.max(left.scale, right.scale);
  const at = ({ digits, scale: own }: Decimal): bigint => digits * 10n ** BigInt(scale - own);
  return Number(`${at(left) + at(right)}e-${scale}`);
}
