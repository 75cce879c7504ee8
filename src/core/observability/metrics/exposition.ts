import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** The text format of Prometheus, version 0.0.4. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Lines rendered before other work of the event loop may run: less than 1 ms. */
const LINES_PER_SLICE = 500;

export interface Sample {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
}

/** Renders every metric of the registry. */
export async function renderMetrics(registry: Registry): Promise<string> {
  const slices: string[] = [];
  let lines: string[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = await registry.getSingleMetric(name)?.get();
    if (metric === undefined) continue;
    lines.push(`# HELP ${name} ${escapeHelp(metric.help)}\n# TYPE ${name} ${String(metric.type)}\n`);
    for (const sample of metric.values as Iterable<Sample>) {
      lines.push(lineOf(sample.metricName ?? name, sample));
      if (lines.length < LINES_PER_SLICE) continue;
      // Joined here, because joining all lines at the end would take longer than a slice.
      slices.push(lines.join(''));
      lines = [];
      await yieldToEventLoop();
    }
  }
  slices.push(lines.join(''));
  return slices.join('');
}

function lineOf(name: string, { labels, value }: Sample): string {
  return `${name}${textOf(labels)} ${formatValue(value)}\n`;
}

/** The series of counters and histograms keep their labels, so each text is made once. */
const texts = new WeakMap<Sample['labels'], string>();

function textOf(labels: Sample['labels']): string {
  let text = texts.get(labels);
  if (text === undefined) {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(String(value))}"`);
    texts.set(labels, (text = pairs.length === 0 ? '' : `{${pairs.join(',')}}`));
  }
  return text;
}

function escapeHelp(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');
}

function escapeValue(text: string): string {
  return /[\\"\n]/.test(text) ? escapeHelp(text).replace(/"/g, '\\"') : text;
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
