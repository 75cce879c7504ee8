/** What a chart shows: the values of each series, one for each bucket. */
export interface ChartData {
  /** Label of each bucket, for example `23 Nov`. */
  readonly buckets: readonly string[];
  readonly series: readonly ChartSeries[];
  /** Values of the axis, from zero up. */
  readonly ticks: readonly bigint[];
  readonly format: (value: bigint) => string;
  readonly formatTick: (value: bigint) => string;
}

export interface ChartSeries {
  readonly label: string;
  readonly color: string;
  /** Null: a gap in a line; columns have none. */
  readonly values: readonly (bigint | null)[];
  readonly total: bigint;
}

const COLORS = [
  'var(--color-series-1)',
  'var(--color-series-2)',
  'var(--color-series-3)',
  'var(--color-series-4)',
  'var(--color-series-5)',
  'var(--color-series-6)',
  'var(--color-series-7)',
  'var(--color-series-8)',
];

/** The colour of the series with this rank; those beyond the eighth share one. */
export function seriesColor(rank: number): string {
  return COLORS[rank] ?? 'var(--color-series-other)';
}

/** Colour of series that have no rank of their own. */
export const OTHER_COLOR = 'var(--color-series-other)';
