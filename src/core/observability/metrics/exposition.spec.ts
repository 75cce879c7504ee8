import { spawnSync } from 'node:child_process';
import { assert, asyncProperty, double, string, tuple, uniqueArray } from 'fast-check';
import { Gauge, Registry } from 'prom-client';
import { Metrics } from './catalogue';
import { renderMetrics } from './exposition';
import { Histogram } from './histogram';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

interface ReadSample {
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** Reads the text format by its grammar, independently of the writer. */
function readSamples(text: string, name: string): ReadSample[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => {
      const end = line.lastIndexOf('} ');
      const pairs = line.slice(name.length + 1, end).matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gs);
      const labels = [...pairs].map(([, label = '', raw = '']) => [label, unescape(raw)] as const);
      return { labels: Object.fromEntries(labels), value: readValue(line.slice(end + 2)) };
    });
}

function unescape(raw: string): string {
  return raw.replace(/\\(.)/gs, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

function readValue(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}

describe('the exposition', () => {
  it('keeps any label and value', async () => {
    const text = string({ unit: 'binary', maxLength: 30 }).filter((each) => each.isWellFormed());
    const rows = uniqueArray(tuple(text, text, double({ noNaN: true })), {
      maxLength: 20,
      selector: ([one, two]) => JSON.stringify([one, two]),
    });
    await assert(
      asyncProperty(rows, async (samples) => {
        const registry = new Registry();
        const gauge = new Gauge({
          name: 'any_value',
          help: 'a\\b\nc',
          labelNames: ['one', 'two'],
          registers: [registry],
        });
        // prom-client refuses infinite values.
        const finite = samples.filter(([, , value]) => Number.isFinite(value));
        for (const [one, two, value] of finite) gauge.labels(one, two).set(value);
        const read = readSamples(await renderMetrics(registry), 'any_value');
        expect(read).toEqual(
          finite.map(([one, two, value]) => ({ labels: { one, two }, value: value === 0 ? 0 : value })),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('counts an observation in its bucket and those above, up to and including the bound', async () => {
    const registry = new Registry();
    const histogram = new Histogram({ name: 'h', help: 'h', labelNames: ['l'], buckets: [1, 2.5], registry });
    const series = histogram.labels('a');
    for (const value of [0.5, 1, 1.5, 2.5, 4]) series.observe(value);
    expect(await renderMetrics(registry)).toBe(
      [
        '# HELP h h',
        '# TYPE h histogram',
        'h_bucket{le="1",l="a"} 2',
        'h_bucket{le="2.5",l="a"} 4',
        'h_bucket{le="+Inf",l="a"} 5',
        'h_sum{l="a"} 9.5',
        'h_count{l="a"} 5',
        '',
      ].join('\n'),
    );
  });

  it('yields to the event loop between slices of 500 lines', async () => {
    const registry = new Registry();
    const buckets = Array.from({ length: 11 }, (_, index) => index);
    const histogram = new Histogram({ name: 'h', help: 'h', labelNames: ['l'], buckets, registry });
    for (let index = 0; index < 1_000; index++) histogram.labels(String(index)).observe(1);
    let iterations = 0;
    const count = (): void => {
      iterations++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const text = await renderMetrics(registry);
    clearImmediate(timer);
    expect(text.split('\n')).toHaveLength(14_003);
    expect(iterations).toBeGreaterThanOrEqual(28);
  });
});

describe('a scrape of 10,000 series', () => {
  /** CPU time of the quickest of some rounds, because other work on the machine slows down the rest. */
  const ROUNDS = 20;
  const MAX_SLICE_MS = 3;
  const MAX_SHARE = 0.25;

  it(`takes the event loop for at most ${MAX_SLICE_MS} ms, and ${MAX_SHARE * 100} % of its CPU time, at a time`, async () => {
    const metrics = new Metrics();
    for (let index = 0; metrics.size < 9_900; index++) {
      metrics.firstToken.of(`vendor/model-${index}`).observe(1);
      metrics.outputToken.of(`vendor/model-${index}`).observe(0.05);
      for (const direction of ['input', 'output', 'cache_read']) {
        metrics.tokens.of(`vendor/model-${index}`, 'vendor', direction).inc(1_000);
      }
    }
    const slicesMs: number[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const slices: number[] = [];
      let before = process.cpuUsage();
      const note = (): void => {
        const { user, system } = process.cpuUsage(before);
        slices.push((user + system) / 1_000);
        before = process.cpuUsage();
        timer = setImmediate(note);
      };
      let timer = setImmediate(note);
      await renderMetrics(metrics.registry);
      clearImmediate(timer);
      note();
      clearImmediate(timer);
      slicesMs.push(slices);
    }
    const longestMs = Math.min(...slicesMs.map((slices) => Math.max(...slices)));
    const totalMs = Math.min(...slicesMs.map((slices) => slices.reduce((sum, slice) => sum + slice, 0)));
    process.stdout.write(`a scrape: ${totalMs.toFixed(1)} ms of CPU, longest slice ${longestMs.toFixed(1)} ms\n`);
    expect(longestMs).toBeLessThan(MAX_SLICE_MS);
    expect(longestMs).toBeLessThan(MAX_SHARE * totalMs);
  });
});

(hasPromtool ? describe : describe.skip)('the exposition of the whole catalogue (needs promtool)', () => {
  it('passes promtool check metrics', async () => {
    const metrics = new Metrics();
    metrics.requests.of('createChatCompletion', 'vendor/"model"\\', 'success', 'true').inc();
    metrics.requestDuration.of('createChatCompletion', 'true').observe(0.5);
    metrics.jobDuration.of('video', 'succeeded').observe(90);
    await metrics.refresh();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await renderMetrics(metrics.registry),
      encoding: 'utf8',
    });
    const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
    expect({ status, complaints }).toEqual({ status: 0, complaints: [] });
  });
});
