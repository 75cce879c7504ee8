import type { UsageSeries } from '../../contract/dashboard';
import { latencyLines, latencySummary } from './latency';

const NONE = { requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cost_micro: 0 };

function sums(p50: number | null) {
  const times = p50 === null ? null : { p50, p95: p50 * 2 };
  return { ...NONE, first_token_ms: times, total_ms: null };
}

function seriesOf(grouping: UsageSeries['group_by'], groups: Readonly<Record<string, readonly (number | null)[]>>) {
  return {
    object: 'usage.series',
    interval: 'day',
    group_by: grouping,
    from: '2026-11-21T00:00:00.000Z',
    to: '2026-11-23T00:00:00.000Z',
    total: sums(30),
    data: Object.entries(groups).map(([group, values]) => ({
      object: 'usage.group',
      group,
      total: sums(values.find((value) => value !== null) ?? null),
      buckets: values.map((value, index) => ({ starts_at: `2026-11-2${index + 1}T00:00:00.000Z`, ...sums(value) })),
    })),
  } satisfies UsageSeries;
}

describe('latency over time', () => {
  it('is the median and 95 % of all requests, with gaps where none were counted', () => {
    expect(latencyLines(seriesOf('none', { all: [30, null] }), 'first_token_ms')).toEqual([
      { name: 'p50', values: [30n, null], whole: 30n },
      { name: 'p95', values: [60n, null], whole: 60n },
    ]);
  });

  it('is the median of each group that has any, without the rest', () => {
    const series = seriesOf('model', { slow: [40, 20], untimed: [null, null], other: [9, 9] });
    expect(latencyLines(series, 'first_token_ms').map(({ name }) => name)).toEqual(['slow']);
  });

  it('says how long requests took, and when they were slowest', () => {
    expect(latencySummary(seriesOf('none', { all: [30, 700] }), 'first_token_ms')).toBe(
      'Half of the requests within 30 ms, 95% within 60 ms. Slowest on 22 Nov UTC (95% within 1.4 s).',
    );
    expect(latencySummary(seriesOf('model', { a: [30, 700] }), 'first_token_ms')).toMatch(/Each line is a median\.$/);
    const untimed = { ...seriesOf('none', { all: [null] }), total: sums(null) };
    expect(latencySummary(untimed, 'total_ms')).toBe('No times were recorded in this period.');
  });
});
