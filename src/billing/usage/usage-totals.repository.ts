import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ReadDatabase } from '../../core/database/read-database';
import { operationsOf } from './operations';
import type { RequestFilter } from './usage.types';

export type Span = 'hour' | 'day';

/** The dimensions of totals; `operation` and `outcome` have few values, the others may have many. */
export type Dimension = 'model' | 'key' | 'organization' | 'operation' | 'outcome';

/** A summand of one hour or day of one dimension value; there may be several. `bigint` columns are text. */
export interface TotalsRow {
  /** Hours or days since `from`. */
  readonly bucket: number;
  /** `null`: all values together. */
  readonly value: string | null;
  readonly requests: string;
  readonly errors: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly charged_micro: string;
  /** Elements of `usage_latency_sum`, separated by commas. */
  readonly latency: string;
}

export interface TotalsQuery {
  /** `null`: all organizations together. */
  readonly organizationId: string | null;
  readonly span: Span;
  /** Beginning of an hour or a day. */
  readonly from: Date;
  readonly to: Date;
  /** Only requests with this value. Totals by model have no key, and totals by key have no model and no operation. */
  readonly only?: { readonly dimension: 'model' | 'key'; readonly value: string };
}

/** Dimensions with many values, of which only selected ones are read. */
export type NamedDimension = Extract<Dimension, 'model' | 'key' | 'organization'>;

/** An hour with matching requests. */
export interface BusyHour {
  readonly startsAtMs: number;
  /** Bit n is set if minute n has such requests. */
  readonly minutes: bigint;
  /** Upper bound. */
  readonly requests: number;
}

/** In milliseconds since the epoch; the end is exclusive. */
export interface Period {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const SPAN_SECONDS: Readonly<Record<Span, number>> = { hour: 3_600, day: 86_400 };

/**
 * Reads one row of the primary key: with `min` and `max`, PostgreSQL might read the hours of all organizations in
 * order.
 */
const HOUR = (comparison: '>=' | '<=', bound: string, order: string): string => `
  SELECT CASE WHEN organization_id = $1 AND span = 'hour' THEN starts_at END AS hour
    FROM (SELECT organization_id, span, starts_at FROM usage_by_model
           WHERE (organization_id, span, starts_at) ${comparison} ($1, 'hour', '${bound}'::timestamptz)
           ORDER BY organization_id ${order}, span ${order}, starts_at ${order} LIMIT 1) total`;

/** Totals are kept longer than receipts. */
const PERIOD = `
  SELECT GREATEST(min(hour), (SELECT max(date_trunc('hour', kept_since, 'UTC')) FROM receipt_history)) AS first,
         max(hour) AS last
    FROM (${HOUR('>=', '-infinity', 'ASC')}
          UNION ALL
          ${HOUR('<=', 'infinity', 'DESC')}
          UNION ALL
          SELECT min(hour) FROM usage_delta WHERE organization_id = $1
          UNION ALL
          SELECT max(hour) FROM usage_delta WHERE organization_id = $1) hours`;

type TotalsTable = 'usage_by_model' | 'usage_by_key';

const TABLES: Readonly<Record<NamedDimension, { table: TotalsTable; column: string; type: string }>> = {
  model: { table: 'usage_by_model', column: 'model', type: 'text' },
  key: { table: 'usage_by_key', column: 'key_id', type: 'uuid' },
  organization: { table: 'usage_by_model', column: 'organization_id', type: 'uuid' },
};

/**
 * $1 is the organization; null: all. PostgreSQL plans each call with its value, so that one organization is read by
 * index.
 */
const OF_ORGANIZATION = '($1::uuid IS NULL OR organization_id = $1)';

/**
 * The only SQL on `usage_by_model`, `usage_by_key` and `usage_delta`. Every read sums totals and deltas that are not
 * folded yet in one statement, so that no request is missed or counted twice.
 */
@Injectable()
export class UsageTotalsRepository {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(ReadDatabase) private readonly reads: Pick<ReadDatabase, 'query'>,
  ) {}

  /** Folds at most `limit` deltas that no other process is folding; returns how many. */
  async roll(limit: number): Promise<number> {
    const [row] = await this.dataSource.query<{ folded: number }[]>('SELECT usage_roll($1) AS folded', [limit]);
    return row?.folded ?? 0;
  }

  /** The hours from the first to the last request whose receipt is kept; `null`: there is none. */
  async findPeriod(organizationId: string): Promise<Period | null> {
    const [row] = await this.reads.query<{ first: Date | null; last: Date | null }[]>(PERIOD, [organizationId]);
    if (row === undefined || row.first === null || row.last === null) return null;
    return { startsAtMs: row.first.getTime(), endsAtMs: row.last.getTime() + HOUR_MS };
  }

  /**
   * The values of a dimension with the highest cost, most expensive first. Whole days of the period are read as days,
   * which are far fewer rows.
   */
  async findMostExpensive(
    { organizationId, from, to }: TotalsQuery,
    dimension: NamedDimension,
    limit: number,
  ): Promise<string[]> {
    const firstDay = Math.min(Math.ceil(from.getTime() / DAY_MS) * DAY_MS, to.getTime());
    const endOfDays = Math.max(Math.floor(to.getTime() / DAY_MS) * DAY_MS, firstDay);
    const { table, column } = TABLES[dimension];
    const of = (span: Span, start: string, end: string): string =>
      `SELECT ${column}, requests, charged_micro FROM ${table}
        WHERE ${OF_ORGANIZATION} AND span = '${span}' AND starts_at >= ${start} AND starts_at < ${end}`;
    const rows = await this.reads.query<{ value: string }[]>(
      `SELECT ${column}::text AS value
         FROM (${of('hour', '$2', '$3')} UNION ALL ${of('day', '$3', '$4')} UNION ALL ${of('hour', '$4', '$5')} UNION ALL
               SELECT ${column}, requests, charged_micro FROM usage_delta
                WHERE ${OF_ORGANIZATION} AND hour >= $2 AND hour < $5) usage
        GROUP BY ${column} ORDER BY sum(charged_micro) DESC, sum(requests) DESC, ${column} LIMIT $6`,
      [organizationId, from, new Date(firstDay), new Date(endOfDays), to, limit],
    );
    return rows.map(({ value }) => value);
  }

  /** Sums by bucket and by value of a dimension with few values; `null`: by bucket only. */
  sum(query: TotalsQuery, dimension: Exclude<Dimension, NamedDimension> | null): Promise<TotalsRow[]> {
    const { organizationId, span, from, to, only } = query;
    const parameters = [organizationId, from, to];
    if (only === undefined) return this.readPacked(sumsOf('usage_by_model', dimension, span, ''), parameters);
    const { table, column, type } = TABLES[only.dimension];
    const sums = sumsOf(table, dimension, span, `AND ${column} = $4::${type}`);
    return this.readPacked(sums, [...parameters, only.value]);
  }

  /**
   * Sums by bucket for each of the values, read through an index on the value. `unnamed` states what the rows under
   * `null` contain: nothing, all other values, or all values. Rows of one value in one organization are not added up,
   * because the caller does that faster than PostgreSQL.
   */
  sumNamed(
    query: TotalsQuery,
    dimension: NamedDimension,
    values: readonly string[],
    unnamed: 'none' | 'others' | 'all',
  ): Promise<TotalsRow[]> {
    const { table, column, type } = TABLES[dimension];
    const condition = `AND ${column} = ANY ($4::${type}[])`;
    const rows = rowsOf(table, column, query.span, condition);
    const named =
      query.organizationId === null
        ? sumsOf(table, column, query.span, condition)
        : `SELECT ${bucketOf(query.span)}, value, ${COUNTS.join(', ')}, charged_micro, latency FROM (${rows}) usage`;
    const rest = {
      none: '',
      others: ` UNION ALL ${sumsOf(table, null, query.span, `AND ${column} <> ALL ($4::${type}[])`)}`,
      // Read from totals by model, which are fewer, and without latencies, since those of the named keys are unknown.
      all: ` UNION ALL ${sumsOf('usage_by_model', null, query.span, '', NO_LATENCY)}`,
    };
    return this.readPacked(`${named}${rest[unnamed]}`, [query.organizationId, query.from, query.to, values]);
  }

  /**
   * The hours overlapping [from, to) with requests that match `filter`, latest first; if the filter names a key and a
   * model, also some hours and minutes without a match.
   */
  async findBusyHours(
    organizationId: string,
    filter: RequestFilter & Required<Pick<RequestFilter, 'from' | 'to'>>,
  ): Promise<BusyHour[]> {
    const { text, parameters } = busyHours(organizationId, filter);
    const rows = await this.reads.query<{ hour_s: number; minutes: string; requests: string }[]>(text, parameters);
    return rows.map(({ hour_s: hourSeconds, minutes, requests }) => ({
      startsAtMs: hourSeconds * 1_000,
      minutes: BigInt(minutes),
      requests: Number(requests),
    }));
  }

  /**
   * Packs thousands of rows into one per value: parsing rows in the driver costs more than joining them in PostgreSQL.
   */
  private async readPacked(rows: string, parameters: unknown[]): Promise<TotalsRow[]> {
    const columns = PACKED.map((column) => `array_agg(${column})::text AS ${column}`).join(', ');
    const packed = await this.reads.query<PackedRow[]>(
      `SELECT value, ${columns}, string_agg(COALESCE(latency, ''), ';') AS latency FROM (${rows}) usage GROUP BY value`,
      parameters,
    );
    return packed.flatMap(unpack);
  }
}

const COUNTS = ['requests', 'errors', 'input_tokens', 'output_tokens'] as const;
const PACKED = ['bucket', ...COUNTS, 'charged_micro'] as const;

/** All rows of one value, each column as the text of an array. */
type PackedRow = Pick<TotalsRow, 'value' | 'latency'> & Readonly<Record<(typeof PACKED)[number], string>>;

function unpack(row: PackedRow): TotalsRow[] {
  const [buckets, requests, errors, inputTokens, outputTokens, charged] = PACKED.map((column) =>
    row[column].slice(1, -1).split(','),
  ) as [string[], string[], string[], string[], string[], string[]];
  const latencies = row.latency.split(';');
  return buckets.map((bucket, index) => ({
    bucket: Number(bucket),
    value: row.value,
    requests: requests[index] as string,
    errors: errors[index] as string,
    input_tokens: inputTokens[index] as string,
    output_tokens: outputTokens[index] as string,
    charged_micro: charged[index] as string,
    latency: latencies[index] as string,
  }));
}

/** Totals by key have no latencies. */
const NO_LATENCY = 'NULL::text';

/**
 * Totals and deltas by hour or day and, unless it is `null`, by a column; $1 to $3 are organization, beginning and end.
 */
function rowsOf(
  table: TotalsTable,
  column: string | null,
  span: Span,
  condition: string,
  latency = table === 'usage_by_model' ? `array_to_string(latency, ',')` : NO_LATENCY,
): string {
  const columns = `${column ?? 'NULL'}::text AS value, requests,
    CASE outcome WHEN 'success' THEN 0 ELSE requests END AS errors, input_tokens, output_tokens, charged_micro,
    ${latency} AS latency`;
  return `
    SELECT starts_at, ${columns} FROM ${table}
     WHERE ${OF_ORGANIZATION} AND span = '${span}' AND starts_at >= $2 AND starts_at < $3 ${condition}
    UNION ALL
    SELECT date_trunc('${span}', hour, 'UTC') AS starts_at, ${columns} FROM usage_delta
     WHERE ${OF_ORGANIZATION} AND hour >= $2 AND hour < $3 ${condition}`;
}

/** Buckets are numbers because parsing thousands of dates takes longer than reading the rows. */
function bucketOf(span: Span): string {
  return `(date_part('epoch', starts_at - $2::timestamptz) / ${SPAN_SECONDS[span]})::integer AS bucket`;
}

/**
 * {@link rowsOf} with one row for each bucket and value. Counts are summed as `double precision`, which is exact up to
 * 2^53 and much faster than the `numeric` sum of a `bigint` column.
 */
function sumsOf(table: TotalsTable, column: string | null, span: Span, condition: string, latency?: string): string {
  const counts = COUNTS.map((count) => `sum(${count}::double precision)::bigint AS ${count}`).join(', ');
  return `
    SELECT ${bucketOf(span)}, value, ${counts}, sum(charged_micro)::bigint AS charged_micro,
           string_agg(latency, ',') AS latency
      FROM (${rowsOf(table, column, span, condition, latency)}) usage
     GROUP BY starts_at, value`;
}

const FIRST_HOUR = `date_trunc('hour', $2::timestamptz, 'UTC')`;

/**
 * Totals by key have no model, and vice versa: if both are named, an hour and its minutes must be in both. Each is
 * found through an index on the key or model.
 */
function busyHours(organizationId: string, filter: RequestFilter): { text: string; parameters: unknown[] } {
  const parameters: unknown[] = [organizationId, filter.from, filter.to];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const outcome = outcomeConditions(filter, bind);
  const model = modelConditions(filter, bind);
  const byModel = hoursIn('usage_by_model', [...model, ...outcome]);
  if (filter.keyId === undefined) return { text: inOrder(byModel), parameters };
  const byKey = hoursIn('usage_by_key', [`key_id = ${bind(filter.keyId)}`, ...outcome]);
  if (model.length === 0) return { text: inOrder(byKey), parameters };
  const both = `
    SELECT hour, k.minutes & m.minutes AS minutes, LEAST(k.requests, m.requests) AS requests
      FROM (${byKey}) k JOIN (${byModel}) m USING (hour) WHERE k.minutes & m.minutes <> 0`;
  return { text: inOrder(both), parameters };
}

function inOrder(hours: string): string {
  return `SELECT extract(epoch FROM hour)::double precision AS hour_s, minutes, requests FROM (${hours}) hours
    ORDER BY hour DESC`;
}

function hoursIn(table: TotalsTable, conditions: readonly string[]): string {
  const passes = conditions.map((condition) => ` AND ${condition}`).join('');
  return `
    SELECT hour, bit_or(minutes) AS minutes, sum(requests) AS requests FROM (
      SELECT starts_at AS hour, minutes, requests FROM ${table}
       WHERE organization_id = $1 AND span = 'hour' AND starts_at >= ${FIRST_HOUR}
         AND starts_at < $3${passes}
      UNION ALL
      SELECT hour, minutes, requests FROM usage_delta
       WHERE organization_id = $1 AND hour >= ${FIRST_HOUR} AND hour < $3${passes}
    ) usage GROUP BY hour`;
}

function modelConditions({ model, modality, operation }: RequestFilter, bind: (value: unknown) => string): string[] {
  return [
    ...(model === undefined ? [] : [`model = ${bind(model)}`]),
    ...(modality === undefined ? [] : [`operation = ANY (${bind(operationsOf(modality))}::text[])`]),
    ...(operation === undefined ? [] : [`operation = ${bind(operation)}`]),
  ];
}

function outcomeConditions({ status, errorCode }: RequestFilter, bind: (value: unknown) => string): string[] {
  return [
    ...(status === undefined ? [] : [`outcome ${status === 'success' ? '=' : '<>'} 'success'`]),
    // The redundant condition makes the index of failures usable.
    ...(errorCode === undefined ? [] : [`outcome = ${bind(errorCode)}`, `outcome <> 'success'`]),
  ];
}
