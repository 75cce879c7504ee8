import type { UsageBucket, UsageSeries, UsageSums } from '../../contract/dashboard';
import {
  axisTicks,
  bucketPeriod,
  columnsOf,
  errorTenths,
  formatBucket,
  formatTick,
  groupRows,
  seriesCsv,
  summaryOf,
} from './series';

const DAYS = ['2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z'];

function sums(cost: number, requests = 1): UsageSums {
  return {
    requests,
    errors: 0,
    input_tokens: 3,
    output_tokens: 4,
    cost_micro: cost,
    first_token_ms: { p50: 20, p95: 90 },
    total_ms: null,
  };
}

function seriesOf(costs: Readonly<Record<string, readonly [number, number]>>): UsageSeries {
  const data = Object.entries(costs).map(([group, [first, second]]) => ({
    object: 'usage.group' as const,
    group,
    total: sums(first + second, 2),
    buckets: DAYS.map((day, index): UsageBucket => ({ starts_at: day, ...sums(index === 0 ? first : second) })),
  }));
  return {
    object: 'usage.series',
    interval: 'day',
    group_by: 'model',
    from: '2026-11-21T00:00:00.000Z',
    to: '2026-11-23T00:00:00.000Z',
    total: sums(
      data.reduce((sum, { total }) => sum + total.cost_micro, 0),
      data.length * 2,
    ),
    data,
  };
}

describe('columnsOf', () => {
  it('keeps the order of the reply and adds up each bucket', () => {
    const columns = columnsOf(seriesOf({ b: [5, 1], a: [2, 3], other: [1, 0] }), 'cost');
    expect(columns.starts).toEqual(DAYS);
    expect(columns.groups.map(({ name, values }) => [name, values])).toEqual([
      ['b', [5n, 1n]],
      ['a', [2n, 3n]],
      ['other', [1n, 0n]],
    ]);
    expect([columns.totals, columns.total]).toEqual([[8n, 4n], 12n]);
  });

  it('shows eight groups and adds the rest to other', () => {
    const groups = Object.fromEntries('abcdefghij'.split('').map((name) => [name, [10, 1] as const]));
    const columns = columnsOf(seriesOf({ ...groups, other: [7, 0] }), 'cost');
    expect(columns.groups.map(({ name }) => name)).toEqual([...'abcdefgh', 'other']);
    expect(columns.groups.at(-1)).toEqual({ name: 'other', values: [27n, 2n], total: 29n });
    expect(columns.totals).toEqual([107n, 10n]);
  });

  it('adds beyond safe integers without rounding', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(columnsOf(seriesOf({ a: [most, 0], b: [most, 0], c: [most - 1, 0] }), 'cost').totals[0]).toBe(
      3n * BigInt(most) - 1n,
    );
  });

  it('has every bucket of a series without requests', () => {
    expect(columnsOf(seriesOf({}), 'requests')).toEqual({ starts: DAYS, groups: [], totals: [0n, 0n], total: 0n });
  });
});

describe('axisTicks', () => {
  it.each([
    [0n, [0n, 1n]],
    [1n, [0n, 1n]],
    [5n, [0n, 1n, 2n, 3n, 4n, 5n]],
    [6n, [0n, 2n, 4n, 6n]],
    [87_000n, [0n, 20_000n, 40_000n, 60_000n, 80_000n, 100_000n]],
    [51n, [0n, 20n, 40n, 60n]],
  ])('of %s', (highest, ticks) => {
    expect(axisTicks(highest)).toEqual(ticks);
  });

  it('of a low chart are three at most', () => {
    expect(axisTicks(200n, 2n)).toEqual([0n, 100n, 200n]);
    expect(axisTicks(201n, 2n)).toEqual([0n, 200n, 400n]);
  });

  it('reaches every value with at most six ticks', () => {
    for (let value = 1n; value < 10n ** 20n; value = value * 3n + 1n) {
      const ticks = axisTicks(value);
      expect(ticks.length).toBeLessThanOrEqual(6);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(value);
      expect(ticks.at(-2)).toBeLessThan(value);
    }
  });

  it('are written without rounding', () => {
    expect(formatTick(250_000n, 'requests')).toBe('250K');
    expect(formatTick(20_000n, 'cost')).toBe('$0.02');
  });
});

it('names buckets in UTC and gives their period with an exclusive end', () => {
  expect(formatBucket('2026-11-23T00:00:00.000Z', 'day')).toBe('23 Nov');
  expect(formatBucket('2026-11-23T23:00:00.000Z', 'hour')).toBe('23 Nov 23:00');
  expect(bucketPeriod('2026-11-23T23:00:00.000Z', 'hour')).toEqual({
    from: '2026-11-23T23:00:00.000Z',
    to: '2026-11-24T00:00:00.000Z',
  });
});

it('gives each group its share of the metric, and the share of errors', () => {
  expect(groupRows(seriesOf({ a: [2, 0], b: [1, 0] }), 'cost').map(({ shareTenths }) => shareTenths)).toEqual([
    667, 333,
  ]);
  expect(errorTenths({ ...sums(0, 8), errors: 1 })).toBe(125);
  expect(errorTenths(sums(0, 0))).toBeNull();
});

it('says in one sentence what the columns show', () => {
  const summary = (series: UsageSeries): string =>
    summaryOf(columnsOf(series, 'cost'), 'cost', 'day', (name) => name.toUpperCase());
  expect(summary(seriesOf({}))).toBe('Nothing in this period.');
  expect(summary(seriesOf({ a: [1_000_000, 3_000_000] }))).toBe('$4.00 in total, most on 22 Nov UTC ($3.00).');
  expect(summary(seriesOf({ a: [1, 2], b: [3, 3], other: [9, 0] }))).toBe(
    '$0.000018 in total, most on 21 Nov UTC ($0.000013). Largest share: B, 33.3%.',
  );
});

it('writes every group and bucket as CSV with integers', () => {
  expect(seriesCsv(seriesOf({ '=a': [1_234_567, 0] }), () => 'x, y')).toBe(
    '\uFEFFstarts_at,group,name,requests,errors,input_tokens,output_tokens,cost_micro,' +
      'first_token_p50_ms,first_token_p95_ms,total_p50_ms,total_p95_ms\r\n' +
      `${DAYS[0]},'=a,"x, y",1,0,3,4,1234567,20,90,,\r\n${DAYS[1]},'=a,"x, y",1,0,3,4,0,20,90,,\r\n`,
  );
});
