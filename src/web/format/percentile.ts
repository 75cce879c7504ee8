/**
 * The smallest of the values that at least `share` (0 to 1) of them do not exceed (nearest rank); null of none.
 */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? null;
}
