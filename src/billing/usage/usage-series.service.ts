import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { NO_LATENCIES, readLatencies, sumLatencies } from './latency';
import { OPERATION_MODALITIES, type Operation } from './operations';
import type { UsageSums } from './usage.types';
import { type Span, type TotalsQuery, type TotalsRow, UsageTotalsRepository } from './usage-totals.repository';

export const GROUPINGS = ['none', 'model', 'key', 'modality', 'operation', 'status', 'error_code'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const PLATFORM_GROUPINGS = ['none', 'model', 'organization', 'status'] as const;
export type PlatformGrouping = (typeof PLATFORM_GROUPINGS)[number];

type AnyGrouping = Grouping | PlatformGrouping;

export interface SeriesQuery<By extends AnyGrouping = Grouping> {
  /** Rounded down to the hour or day; `to` is rounded up. Default: 30 days, or 24 hours, before `to`. */
  readonly from?: Date;
  /** Exclusive. Default: now. */
  readonly to?: Date;
  readonly interval: Span;
  readonly groupBy: By;
  /** Only requests of this model, or with this key; not both. */
  readonly model?: string;
  readonly keyId?: string;
}

export interface SeriesBucket extends UsageSums {
  readonly startsAt: Date;
}

/** One line of a chart. */
export interface SeriesGroup {
  /**
   * A model, the id of a key or an organization, a modality, an operation, `success` or `error`, an error code; `all`
   * without groups; `other` for the rest.
   */
  readonly name: string;
  readonly total: UsageSums;
  /** One for each hour or day from the beginning to the end, in order. */
  readonly buckets: readonly SeriesBucket[];
}

export interface UsageSeries<By extends AnyGrouping = Grouping> {
  readonly from: Date;
  readonly to: Date;
  readonly interval: Span;
  readonly groupBy: By;
  readonly total: UsageSums;
  /** Most expensive first, `other` last. */
  readonly groups: readonly SeriesGroup[];
}

/** A month of hours, two years of days. */
const MAX_BUCKETS = 750;
const MAX_GROUPS = 20;

const SPAN_MS: Readonly<Record<Span, number>> = { hour: 3_600_000, day: 86_400_000 };
const DEFAULT_BUCKETS: Readonly<Record<Span, number>> = { hour: 24, day: 30 };
const NOTHING: UsageSums = {
  requests: 0,
  errors: 0,
  inputTokens: 0,
  outputTokens: 0,
  chargedMicro: 0n,
  latency: NO_LATENCIES,
};

const DIMENSIONS = {
  none: null,
  modality: 'operation',
  operation: 'operation',
  status: 'outcome',
  error_code: 'outcome',
} as const;
/** What totals by key can be grouped by. */
const GROUPINGS_OF_KEYS: ReadonlySet<AnyGrouping> = new Set(['none', 'key', 'status', 'error_code']);
const OTHERS = 'other';

/** By name, each with a sum for every bucket. */
type GroupSums<Name = string> = Map<Name, UsageSums[]>;

/**
 * The usage of one organization, or of all together, over time. Read from totals, so that the cost of a query does not
 * depend on traffic.
 */
@Injectable()
export class UsageSeriesService {
  constructor(
    private readonly totals: UsageTotalsRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `validation_failed` for an empty period and for more than `MAX_BUCKETS` buckets. */
  series(organizationId: string, query: SeriesQuery): Promise<UsageSeries> {
    return this.read(organizationId, query);
  }

  /** The usage of all organizations. @throws GatewayError as {@link series}. */
  platformSeries(query: SeriesQuery<PlatformGrouping>): Promise<UsageSeries<PlatformGrouping>> {
    return this.read(null, query);
  }

  private async read<By extends AnyGrouping>(
    organizationId: string | null,
    { interval, groupBy, model, keyId, ...period }: SeriesQuery<By>,
  ): Promise<UsageSeries<By>> {
    const { from, to } = this.bucketsOf(interval, period);
    const query = { organizationId, span: interval, from, to, only: scopeOf(groupBy, model, keyId) };
    const sums = await this.sumsOf(query, groupBy);
    const starts = startsOf(query);
    const groups = sums.map(([name, buckets]) => toGroup(name, buckets, starts)).toSorted(byCost);
    const total = sumOf(groups.map((group) => group.total));
    return { from, to, interval, groupBy, total, groups };
  }

  private async sumsOf(
    query: TotalsQuery,
    groupBy: AnyGrouping,
  ): Promise<(readonly [name: string, buckets: UsageSums[]])[]> {
    if (groupBy === 'model' || groupBy === 'key' || groupBy === 'organization') {
      if (query.only?.dimension === groupBy) {
        const { value } = query.only;
        return [...gather(await this.totals.sumNamed(query, groupBy, [value], 'none'), query, () => value)];
      }
      const found = await this.totals.findMostExpensive(query, groupBy, MAX_GROUPS + 1);
      // There can be as many keys as requests, and reading all keys but the named ones takes far more rows than all
      // models.
      const unnamed = found.length <= MAX_GROUPS ? 'none' : groupBy === 'key' ? 'all' : 'others';
      const rows = await this.totals.sumNamed(query, groupBy, found.slice(0, MAX_GROUPS), unnamed);
      const sums = gather(rows, query, (value) => value);
      return unnamed === 'all'
        ? withDifference(sums)
        : [...sums].map(([name, each]) => [name ?? OTHERS, each] as const);
    }
    const rows = await this.totals.sum(query, DIMENSIONS[groupBy]);
    return [...gather(rows, query, (value) => groupOf(groupBy, value))];
  }

  private bucketsOf(interval: Span, period: Pick<SeriesQuery, 'from' | 'to'>): { from: Date; to: Date } {
    const spanMs = SPAN_MS[interval];
    const toMs = Math.ceil((period.to?.getTime() ?? this.clock.now()) / spanMs) * spanMs;
    const fromMs =
      period.from === undefined
        ? toMs - DEFAULT_BUCKETS[interval] * spanMs
        : Math.floor(period.from.getTime() / spanMs) * spanMs;
    if (fromMs >= toMs) throw new GatewayError('validation_failed', 'from must be before to.', { param: 'from' });
    if ((toMs - fromMs) / spanMs > MAX_BUCKETS) {
      throw new GatewayError('validation_failed', `from and to must be at most ${MAX_BUCKETS} ${interval}s apart.`, {
        param: 'from',
      });
    }
    return { from: new Date(fromMs), to: new Date(toMs) };
  }
}

/** @throws GatewayError `validation_failed` for what no totals have. */
function scopeOf(groupBy: AnyGrouping, model: string | undefined, keyId: string | undefined): TotalsQuery['only'] {
  if (model !== undefined && keyId !== undefined) {
    throw new GatewayError('validation_failed', 'key_id and model cannot be combined.', { param: 'key_id' });
  }
  if (keyId !== undefined) {
    if (!GROUPINGS_OF_KEYS.has(groupBy)) throw notGroupable('key_id', [...GROUPINGS_OF_KEYS]);
    return { dimension: 'key', value: keyId };
  }
  if (model === undefined) return undefined;
  if (groupBy === 'key') {
    throw notGroupable(
      'model',
      GROUPINGS.filter((each) => each !== 'key'),
    );
  }
  return { dimension: 'model', value: model };
}

function notGroupable(filter: string, groupings: readonly string[]): GatewayError {
  const message = `With ${filter}, group_by must be one of ${groupings.join(', ')}.`;
  return new GatewayError('validation_failed', message, { param: 'group_by' });
}

function groupOf(groupBy: keyof typeof DIMENSIONS, value: string | null): string {
  if (groupBy === 'modality') return OPERATION_MODALITIES[value as Operation];
  if (groupBy === 'operation' || groupBy === 'error_code') return value ?? 'all';
  if (groupBy === 'status') return value === 'success' ? 'success' : 'error';
  return 'all';
}

/** Groups without requests are omitted; buckets without requests contain zeros. */
function gather<Name>(
  rows: readonly TotalsRow[],
  { span, from, to }: TotalsQuery,
  nameOf: (value: string | null) => Name,
): GroupSums<Name> {
  const sums: GroupSums<Name> = new Map();
  const count = (to.getTime() - from.getTime()) / SPAN_MS[span];
  for (const row of rows) {
    const name = nameOf(row.value);
    const buckets = sums.get(name) ?? Array.from({ length: count }, () => NOTHING);
    const before = buckets[row.bucket] as UsageSums;
    buckets[row.bucket] = before === NOTHING ? toSums(row) : sumOf([before, toSums(row)]);
    sums.set(name, buckets);
  }
  return sums;
}

/** The unnamed group is the sum of all; subtracting the named groups leaves `other`. */
function withDifference(sums: GroupSums<string | null>): (readonly [string, UsageSums[]])[] {
  const named = [...sums].flatMap(([name, buckets]) => (name === null ? [] : [[name, buckets] as const]));
  const others = named.reduce(
    (left, [, buckets]) => left.map((sum, index) => subtract(sum, buckets[index] as UsageSums)),
    sums.get(null) ?? [],
  );
  return others.every(({ requests }) => requests === 0) ? named : [...named, [OTHERS, others]];
}

/** The start of each bucket; all groups share them. */
function startsOf({ span, from, to }: TotalsQuery): readonly Date[] {
  const count = (to.getTime() - from.getTime()) / SPAN_MS[span];
  return Array.from({ length: count }, (_, index) => new Date(from.getTime() + index * SPAN_MS[span]));
}

function toGroup(name: string, sums: readonly UsageSums[], starts: readonly Date[]): SeriesGroup {
  const buckets = sums.map((each, index) => ({ startsAt: starts[index] as Date, ...each }));
  return { name, total: sumOf(sums), buckets };
}

function byCost(left: SeriesGroup, right: SeriesGroup): number {
  if ((left.name === OTHERS) !== (right.name === OTHERS)) return left.name === OTHERS ? 1 : -1;
  if (left.total.chargedMicro !== right.total.chargedMicro) {
    return left.total.chargedMicro > right.total.chargedMicro ? -1 : 1;
  }
  return right.total.requests - left.total.requests || (left.name < right.name ? -1 : 1);
}

function sumOf(summands: readonly UsageSums[]): UsageSums {
  const sum = { ...NOTHING, latency: sumLatencies(summands.map(({ latency }) => latency)) };
  for (const each of summands) {
    sum.requests += each.requests;
    sum.errors += each.errors;
    sum.inputTokens += each.inputTokens;
    sum.outputTokens += each.outputTokens;
    sum.chargedMicro += each.chargedMicro;
  }
  return sum;
}

function subtract(one: UsageSums, other: UsageSums): UsageSums {
  return {
    requests: one.requests - other.requests,
    errors: one.errors - other.errors,
    inputTokens: one.inputTokens - other.inputTokens,
    outputTokens: one.outputTokens - other.outputTokens,
    chargedMicro: one.chargedMicro - other.chargedMicro,
    // Only keys are subtracted, and totals by key have no latencies.
    latency: NO_LATENCIES,
  };
}

function toSums(row: TotalsRow): UsageSums {
  return {
    requests: Number(row.requests),
    errors: Number(row.errors),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    chargedMicro: BigInt(row.charged_micro),
    latency: readLatencies(row.latency),
  };
}
