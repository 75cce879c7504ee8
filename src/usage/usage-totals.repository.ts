import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { operationsOf } from './operations';
import type { RequestFilter } from './usage.types';

export type Span = 'hour' | 'day';

/** What totals are told apart by; `operation` and `outcome` are few, the others may be many. */
export type Dimension = 'model' | 'key' | 'operation' | 'outcome';

/** Sums of one hour or day, of one value of a dimension. `bigint` columns come as text. */
export interface TotalsRow {
  /** Hours or days since the beginning. */
  readonly bucket: number;
  /** `null`: of all values together. */
  readonly value: string | null;
  readonly requests: string;
  readonly errors: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly charged_micro: string;
}

export interface TotalsQuery {
  readonly organizationId: string;
  readonly span: Span;
  /** Beginning of an hour or a day. */
  readonly from: Date;
  readonly to: Date;
}

/** One value of a dimension that has many: totals of few of its values are read without those of the others. */
export type NamedDimension = Extract<Dimension, 'model' | 'key'>;

/** An hour in which there are requests of some kind. */
export interface BusyHour {
  readonly startsAtMs: number;
  /** Bit n: in minute n. */
  readonly minutes: bigint;
  /** At most so many. */
  readonly requests: number;
}

const DAY_MS = 86_400_000;
const SPAN_SECONDS: Readonly<Record<Span, number>> = { hour: 3_600, day: 86_400 };

type TotalsTable = 'usage_by_model' | 'usage_by_key';

const TABLES: Readonly<Record<NamedDimension, { table: TotalsTable; column: string; type: string }>> = {
  model: { table: 'usage_by_model', column: 'model', type: 'text' },
  key: { table: 'usage_by_key', column: 'key_id', type: 'uuid' },
};

/**
 * The only SQL on `usage_by_model`, `usage_by_key` and `usage_delta`. Every read adds up the totals and the deltas that
 * are not in them yet, in one statement, so that no request is missed or counted twice.
 */
@Injectable()
export class UsageTotalsRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Folds at most `limit` deltas; returns how many. 0: there are none, or another process is at it. */
  async roll(limit: number): Promise<number> {
    const [row] = await this.dataSource.query<{ folded: number }[]>('SELECT usage_roll($1) AS folded', [limit]);
    return row?.folded ?? 0;
  }

  /**
   * The values of a dimension that cost most, the dearest first. Whole days of the period are read as days: there are
   * far fewer of them.
   */
  async findDearest(
    { organizationId, from, to }: TotalsQuery,
    dimension: NamedDimension,
    limit: number,
  ): Promise<string[]> {
    const firstDay = Math.min(Math.ceil(from.getTime() / DAY_MS) * DAY_MS, to.getTime());
    const endOfDays = Math.max(Math.floor(to.getTime() / DAY_MS) * DAY_MS, firstDay);
    const { table, column } = TABLES[dimension];
    const of = (span: Span, start: string, end: string): string =>
      `SELECT ${column}, requests, charged_micro FROM ${table}
        WHERE organization_id = $1 AND span = '${span}' AND starts_at >= ${start} AND starts_at < ${end}`;
    const rows = await this.dataSource.query<{ value: string }[]>(
      `SELECT ${column}::text AS value
         FROM (${of('hour', '$2', '$3')} UNION ALL ${of('day', '$3', '$4')} UNION ALL ${of('hour', '$4', '$5')} UNION ALL
               SELECT ${column}, requests, charged_micro FROM usage_delta
                WHERE organization_id = $1 AND hour >= $2 AND hour < $5) usage
        GROUP BY ${column} ORDER BY sum(charged_micro) DESC, sum(requests) DESC, ${column} LIMIT $6`,
      [organizationId, from, new Date(firstDay), new Date(endOfDays), to, limit],
    );
    return rows.map(({ value }) => value);
  }

  /** By bucket, and by value of a dimension that has few; `null`: all together. */
  sum(query: TotalsQuery, dimension: Exclude<Dimension, NamedDimension> | null): Promise<TotalsRow[]> {
    const sums = sumsOf('usage_by_model', dimension, query.span, '');
    return this.dataSource.query(sums, [query.organizationId, query.from, query.to]);
  }

  /** By bucket: each of the values, found through the index that leads to its hours, and all there are together. */
  sumNamed(query: TotalsQuery, dimension: NamedDimension, values: readonly string[]): Promise<TotalsRow[]> {
    const { table, column, type } = TABLES[dimension];
    const named = sumsOf(table, column, query.span, `AND ${column} = ANY ($4::${type}[])`);
    const all = sumsOf('usage_by_model', null, query.span, '');
    return this.dataSource.query(`${named} UNION ALL ${all}`, [query.organizationId, query.from, query.to, values]);
  }

  /**
   * The hours in [from, to) with requests that pass `filter`, the last one first; also some hours and minutes without any
   * where it names a key and a model. Hours before the first receipt that is kept are left out.
   */
  async findBusyHours(organizationId: string, filter: RequestFilter): Promise<BusyHour[]> {
    const { text, parameters } = busyHours(organizationId, filter);
    const rows = await this.dataSource.query<{ hour_s: number; minutes: string; requests: string }[]>(text, parameters);
    return rows.map(({ hour_s: hourSeconds, minutes, requests }) => ({
      startsAtMs: hourSeconds * 1_000,
      minutes: BigInt(minutes),
      requests: Number(requests),
    }));
  }
}

/**
 * Sums by bucket and, unless it is `null`, by a column; $1 to $3 are organization, beginning and end. Buckets are numbers
 * because reading thousands of dates takes longer than reading the rows.
 */
function sumsOf(table: TotalsTable, column: string | null, span: Span, condition: string): string {
  const columns = `${column ?? 'NULL::text'} AS value, outcome, requests, input_tokens, output_tokens, charged_micro`;
  return `
    SELECT (extract(epoch FROM starts_at - $2::timestamptz) / ${SPAN_SECONDS[span]})::integer AS bucket, value::text,
           sum(requests) AS requests, COALESCE(sum(requests) FILTER (WHERE outcome <> 'success'), 0) AS errors,
           sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(charged_micro) AS charged_micro
      FROM (SELECT starts_at, ${columns} FROM ${table}
             WHERE organization_id = $1 AND span = '${span}' AND starts_at >= $2 AND starts_at < $3 ${condition}
            UNION ALL
            SELECT date_trunc('${span}', hour, 'UTC'), ${columns} FROM usage_delta
             WHERE organization_id = $1 AND hour >= $2 AND hour < $3 ${condition}) usage
     GROUP BY starts_at, value`;
}

const FIRST_HOUR = `date_trunc('hour', GREATEST($2::timestamptz,
  (SELECT min(created_at) FROM usage_record WHERE organization_id = $1)), 'UTC')`;

/**
 * Totals by key know no model, and the reverse: where both are named, an hour has to be in both, and so has a minute.
 * Either is found through an index that leads to the hours of that key or model.
 */
function busyHours(organizationId: string, filter: RequestFilter): { text: string; parameters: unknown[] } {
  const parameters: unknown[] = [organizationId, filter.from ?? null, filter.to ?? null];
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
         AND starts_at < COALESCE($3::timestamptz, 'infinity')${passes}
      UNION ALL
      SELECT hour, minutes, requests FROM usage_delta
       WHERE organization_id = $1 AND hour >= ${FIRST_HOUR} AND hour < COALESCE($3::timestamptz, 'infinity')${passes}
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
    ...(errorCode === undefined ? [] : [`outcome = ${bind(errorCode)}`]),
  ];
}
