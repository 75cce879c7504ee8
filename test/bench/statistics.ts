export interface Summary {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Percentiles of the values, which it sorts in place; all zero when there are none. */
export function summarize(values: number[]): Summary {
  values.sort((left, right) => left - right);
  const at = (share: number): number => values[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: values.at(-1) ?? 0 };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Least-squares slope of y over x; 0 for fewer than two points. */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const count = points.length;
  if (count < 2) return 0;
  const meanX = points.reduce((sum, point) => sum + point.x, 0) / count;
  const meanY = points.reduce((sum, point) => sum + point.y, 0) / count;
  const covariance = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  return variance === 0 ? 0 : covariance / variance;
}

/** Three significant digits below 100, whole numbers above: the precision that the noise of a bench permits. */
export function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
