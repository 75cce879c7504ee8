import type { Counter, Gauge } from 'prom-client';
import type { Histogram } from './histogram';

/** Replaces every label value of observations once no series is left. */
export const OTHER = 'other';

/**
 * The number of time series of this process, as the exposition counts them: a histogram has one for each bucket and
 * three more. Beyond the limit no metric gets a new one, so that no mistake in a label can exhaust the memory here or
 * in Prometheus.
 */
export class SeriesCap {
  private used = 0;

  /** @param onDropped called for each observation that has no series of its own */
  constructor(
    private readonly limit: number,
    private readonly onDropped: (metric: string) => void,
  ) {}

  get size(): number {
    return this.used;
  }

  /** `false`: the limit is reached. */
  take(count: number): boolean {
    if (this.used + count > this.limit) return false;
    this.used += count;
    return true;
  }

  /** Counts series that exist regardless of the limit. */
  add(count: number): void {
    this.used += count;
  }

  give(count: number): void {
    this.used -= count;
  }

  noteDropped(metric: string): void {
    this.onDropped(metric);
  }
}

export interface CounterSeries {
  inc(amount?: number): void;
}

export interface HistogramSeries {
  /** @param value in the unit of the metric's name */
  observe(value: number): void;
}

export interface GaugeSeries {
  set(value: number): void;
  inc(): void;
  dec(): void;
}

/** The series of one metric. Label values are given in the order of the metric's label names. */
abstract class Family<Series> {
  private readonly known = new Map<string, Series>();
  private overflow: Series | null = null;

  constructor(
    private readonly name: string,
    private readonly labelCount: number,
    /** Time series per combination of label values. */
    private readonly width: number,
    private readonly cap: SeriesCap,
  ) {
    // A metric without labels is exposed from the start.
    if (labelCount === 0) cap.add(width);
  }

  /**
   * The series of these label values, which must come from closed sets. Callers on the request path keep the result.
   */
  of(...values: readonly string[]): Series {
    const key = values.join('\u0000');
    const known = this.known.get(key);
    if (known !== undefined) return known;
    if (this.labelCount > 0 && !this.cap.take(this.width)) return this.beyondTheCap();
    const series = this.create(values);
    this.known.set(key, series);
    return series;
  }

  /** Removes every series. */
  protected forget(): void {
    this.cap.give(this.known.size * this.width);
    this.known.clear();
    this.overflow = null;
  }

  private beyondTheCap(): Series {
    const note = (): void => this.cap.noteDropped(this.name);
    this.overflow ??= this.counting(this.create(Array.from({ length: this.labelCount }, () => OTHER)), note);
    return this.overflow;
  }

  protected abstract create(values: readonly string[]): Series;
  /** The same series, which calls `note` at each observation. */
  protected abstract counting(series: Series, note: () => void): Series;
}

/** Sums increments between scrapes, because prom-client builds a text from the labels at each call. */
class PendingCount implements CounterSeries {
  private pending = 0;

  constructor(private readonly counter: CounterSeries) {}

  inc(amount = 1): void {
    this.pending += amount;
  }

  flush(): void {
    if (this.pending > 0) this.counter.inc(this.pending);
    this.pending = 0;
  }
}

export class CounterFamily extends Family<CounterSeries> {
  private readonly counts: PendingCount[] = [];

  constructor(
    private readonly counter: Counter,
    name: string,
    labelCount: number,
    cap: SeriesCap,
  ) {
    super(name, labelCount, 1, cap);
  }

  /** Adds the sum to the counter. Call it before the counter is read. */
  flush(): void {
    for (const count of this.counts) count.flush();
  }

  protected create(values: readonly string[]): CounterSeries {
    const count = new PendingCount(this.counter.labels(...values));
    this.counts.push(count);
    return count;
  }

  protected counting(series: CounterSeries, note: () => void): CounterSeries {
    return {
      inc: (amount) => {
        series.inc(amount);
        note();
      },
    };
  }
}

/** The buckets `+Inf`, and the series `_sum` and `_count`. */
const SERIES_BESIDES_BUCKETS = 3;

export class HistogramFamily extends Family<HistogramSeries> {
  constructor(
    private readonly histogram: Histogram,
    name: string,
    labelCount: number,
    bucketCount: number,
    cap: SeriesCap,
  ) {
    super(name, labelCount, bucketCount + SERIES_BESIDES_BUCKETS, cap);
  }

  protected create(values: readonly string[]): HistogramSeries {
    return this.histogram.labels(...values);
  }

  protected counting(series: HistogramSeries, note: () => void): HistogramSeries {
    return {
      observe: (value) => {
        series.observe(value);
        note();
      },
    };
  }
}

export class GaugeFamily extends Family<GaugeSeries> {
  constructor(
    private readonly gauge: Gauge,
    name: string,
    labelCount: number,
    cap: SeriesCap,
  ) {
    super(name, labelCount, 1, cap);
  }

  /** Removes every series, before the gauge is set again. */
  clear(): void {
    this.forget();
    this.gauge.reset();
  }

  protected create(values: readonly string[]): GaugeSeries {
    return this.gauge.labels(...values);
  }

  protected counting(series: GaugeSeries, note: () => void): GaugeSeries {
    return {
      set: (value) => {
        series.set(value);
        note();
      },
      inc: () => series.inc(),
      dec: () => series.dec(),
    };
  }
}
