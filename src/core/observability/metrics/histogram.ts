import type { Metric, Registry } from 'prom-client';
import type { Sample } from './exposition';
import type { HistogramSeries } from './series-cap';

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

/**
 * A histogram whose callers look up a series once. prom-client looks it up at each observation, by a text built from
 * the labels: with six observations per stream, that was most of the cost of all metrics.
 */
export class Histogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  private readonly labelNames: readonly string[];
  private readonly bounds: readonly number[];
  private readonly series: Buckets[] = [];

  constructor({ name, help, labelNames, buckets, registry }: HistogramOptions) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.bounds = buckets;
    // A metric without labels is exposed from the start.
    if (labelNames.length === 0) this.addSeries();
    // The registry and the exposition use only the fields above and `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Adds the series of these label values, or returns the only one of a histogram without labels. */
  labels(...values: readonly string[]): HistogramSeries {
    return (this.labelNames.length === 0 ? this.series[0] : undefined) ?? this.addSeries(...values);
  }

  /** Implements the interface of prom-client's metrics. Samples are created while they are read. */
  get(): { readonly help: string; readonly type: string; readonly values: Iterable<Sample> } {
    return { help: this.help, type: this.type, values: this.samples() };
  }

  private *samples(): Iterable<Sample> {
    const [bucketName, sumName, countName] = ['bucket', 'sum', 'count'].map((part) => `${this.name}_${part}`);
    for (const { labels, bucketLabels, counts, sum } of this.series) {
      let count = 0;
      for (let index = 0; index < counts.length; index++) {
        count += counts[index] ?? 0;
        yield { metricName: bucketName, labels: bucketLabels[index] ?? labels, value: count };
      }
      yield { metricName: sumName, labels, value: sum };
      yield { metricName: countName, labels, value: count };
    }
  }

  private addSeries(...values: readonly string[]): Buckets {
    const series = new Buckets(
      Object.fromEntries(this.labelNames.map((label, index) => [label, values[index] ?? ''])),
      this.bounds,
    );
    this.series.push(series);
    return series;
  }
}

class Buckets implements HistogramSeries {
  /** Observations in each bucket, and above the last bound. */
  readonly counts: number[];
  /** The labels of each bucket. */
  readonly bucketLabels: readonly Sample['labels'][];
  sum = 0;

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    private readonly bounds: readonly number[],
  ) {
    this.bucketLabels = [...bounds, '+Inf'].map((le) => ({ le, ...labels }));
    this.counts = this.bucketLabels.map(() => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++;
    counts[index] = (counts[index] ?? 0) + 1;
    this.sum += value;
  }
}
