const MICRO_PER_DOLLAR = 1_000_000n;

/** Any amount of the API in micro-units (1,000,000 = 1 US dollar); a safe integer. */
export type MicroAmount = number;

/** Sum without rounding, as the parts are safe integers but their sum may not be. */
export function sumMicro(amounts: Iterable<MicroAmount>): bigint {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return sum;
}

/**
 * Exact dollars: two, four or six decimals, the fewest that hold the amount. Never three or five, so that `$1,043.834`
 * is not read as a million.
 */
export function formatMicro(amount: MicroAmount | bigint): string {
  const micro = BigInt(amount);
  const [whole = '', fraction] = decimalOf(micro < 0n ? -micro : micro).split('.');
  return `${micro < 0n ? '−' : ''}$${BigInt(whole).toLocaleString('en-US')}.${fraction}`;
}

/** The same with a sign, `+` or U+2212. */
export function formatSignedMicro(amount: MicroAmount | bigint): string {
  const micro = BigInt(amount);
  if (micro === 0n) return formatMicro(0n);
  return `${micro < 0n ? '−' : '+'}${formatMicro(micro < 0n ? -micro : micro)}`;
}

/** The digits up to the cent, and those below it, which are less important in a large figure. */
export function splitAtCents(formatted: string): readonly [string, string] {
  const point = formatted.lastIndexOf('.');
  return point === -1 ? [formatted, ''] : [formatted.slice(0, point + 3), formatted.slice(point + 3)];
}

/** Share of `part` in `whole` in tenths of a percent, rounded down; null without a whole. */
export function shareInTenths(part: bigint, whole: bigint): number | null {
  return whole <= 0n ? null : Number((part * 1000n) / whole);
}

/** Share of `part` in `whole` to the nearest tenth of a percent; null without a whole. */
export function nearestShareInTenths(part: bigint, whole: bigint): number | null {
  return whole <= 0n ? null : Number((part * 2000n + whole) / (whole * 2n));
}

/** `12.3%` of tenths of a percent. */
export function formatTenths(tenths: number | null): string {
  return tenths === null ? '' : `${Math.trunc(tenths / 10)}.${Math.abs(tenths % 10)}%`;
}

/**
 * Micro-units of typed dollars, for example `12.5`; null for anything but digits with at most `decimals` decimals after
 * a point, and for amounts that are not safe integers.
 */
export function parseDollars(text: string, decimals: 2 | 6 = 6): MicroAmount | null {
  const [, whole, fraction = ''] = /^(\d{1,16})(?:\.(\d+))?$/.exec(text.trim()) ?? [];
  if (whole === undefined || fraction.length > decimals) return null;
  const micro = BigInt(whole) * MICRO_PER_DOLLAR + BigInt(fraction.padEnd(6, '0'));
  return micro > BigInt(Number.MAX_SAFE_INTEGER) ? null : Number(micro);
}

/** The text of an input for the amount; `parseDollars` reads it back. */
export function toInputDollars(amount: MicroAmount): string {
  return decimalOf(BigInt(amount)).replace(/\.00$/, '');
}

/** A plain decimal with two, four or six decimals, of an amount that is not negative. */
function decimalOf(micro: bigint): string {
  const fraction = (micro % MICRO_PER_DOLLAR).toString().padStart(6, '0');
  const decimals = fraction.endsWith('0000') ? 2 : fraction.endsWith('00') ? 4 : 6;
  return `${micro / MICRO_PER_DOLLAR}.${fraction.slice(0, decimals)}`;
}
