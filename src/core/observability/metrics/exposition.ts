import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** The text format of Prometheus, version 0.0.4. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Lines rendered before other work of the event loop may run: about 2 ms. */
const LINES_PER_SLICE = 2_000;

export interface Sample {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
}

/** Renders every metric of the registry. */
export async function renderMetrics(registry: Registry): Promise<string> {
  const parts: string[] = [];
  let linesLeft = LINES_PER_SLICE;
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = await registry.getSingleMetric(name)?.get();
    if (metric === undefined) continue;
    parts.push(`# HELP ${name} ${escapeHelp(metric.help)}\n# TYPE ${name} ${String(metric.type)}\n`);
    for (const sample of metric.values as Iterable<Sample>) {
      parts.push(lineOf(sample.metricName ?? name, sample));
      if (--linesLeft > 0) continue;
      await yieldToEventLoop();
      linesLeft = LINES_PER_SLICE;
    }
  }
  return parts.join('');
}

function lineOf(name: string, { labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeValue(String(text))}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${formatValue(value)}\n`;
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
