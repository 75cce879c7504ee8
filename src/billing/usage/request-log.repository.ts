import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ReadDatabase } from '../../core/database/read-database';
import { textOfTime } from '../../core/types/page';
import { isUuid } from '../../core/types/require-uuid';
import { PriceVersionEntity } from '../../core/database/entities/price-version.entity';
import { operationsOf, type Operation } from './operations';
import type { ChargedPrice, RequestDetails, RequestFilter, RequestSummary } from './usage.types';
import type { AttemptNote, StoredPricing } from '../ledger/money.types';

/** A time interval in milliseconds since the epoch; the end is exclusive. */
export interface Stretch {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** A row of `usage_record` as lists read it. `bigint` columns are text. Numbers that are `null` are 0. */
export interface RequestRow {
  readonly id: string;
  readonly created_at_text: string;
  readonly key_id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly operation: Operation;
  readonly status: number;
  readonly error_code: string | null;
  readonly streamed: boolean;
  readonly usage_estimated: boolean;
  readonly attempts: number;
  readonly first_token_ms: number | null;
  readonly total_ms: number;
  readonly charged_micro: string;
  readonly input_text: string;
  readonly input_cache_read: string | null;
  readonly input_cache_write_5m: string | null;
  readonly input_cache_write_1h: string | null;
  readonly input_image: string | null;
  readonly input_audio: string | null;
  readonly output_text: string;
  readonly output_reasoning: string | null;
  readonly output_image: string | null;
  readonly output_audio: string | null;
  readonly images: string | null;
  readonly seconds: number | null;
  readonly characters: string | null;
}

export interface RequestDetailsRow extends RequestRow {
  readonly deployment_id: string | null;
  readonly price_version_id: string | null;
  readonly hold_micro: string;
  readonly uncollected_micro: string | null;
  readonly attempt_log: AttemptNote[] | null;
  readonly priced_by: StoredPricing | null;
  readonly has_job: boolean;
}

function toSummary(row: RequestRow): RequestSummary {
  return {
    id: row.id,
    createdAt: row.created_at_text,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    operation: row.operation,
    httpStatus: row.status,
    errorCode: row.error_code,
    streamed: row.streamed,
    usage: {
      inputText: Number(row.input_text),
      inputCacheRead: Number(row.input_cache_read ?? 0),
      inputCacheWrite5m: Number(row.input_cache_write_5m ?? 0),
      inputCacheWrite1h: Number(row.input_cache_write_1h ?? 0),
      inputImage: Number(row.input_image ?? 0),
      inputAudio: Number(row.input_audio ?? 0),
      outputText: Number(row.output_text),
      outputReasoning: Number(row.output_reasoning ?? 0),
      outputImage: Number(row.output_image ?? 0),
      outputAudio: Number(row.output_audio ?? 0),
      images: Number(row.images ?? 0),
      seconds: row.seconds ?? 0,
      characters: Number(row.characters ?? 0),
    },
    usageEstimated: row.usage_estimated,
    attempts: row.attempts,
    firstTokenMs: row.first_token_ms,
    totalMs: row.total_ms,
    chargedMicro: BigInt(row.charged_micro),
  };
}

function toDetails(row: RequestDetailsRow): RequestDetails {
  const summary = toSummary(row);
  const { billed, ...pricedBy } = row.priced_by ?? {};
  return {
    ...summary,
    usage: { ...summary.usage, ...billed },
    deploymentId: row.deployment_id,
    priceVersionId: row.price_version_id,
    holdMicro: BigInt(row.hold_micro),
    uncollectedMicro: BigInt(row.uncollected_micro ?? 0),
    attemptLog: row.attempt_log,
    pricedBy: row.priced_by === null ? null : pricedBy,
    hasJob: row.has_job,
  };
}

/** The position after which a list continues. */
export interface RequestPosition {
  /** As `RequestSummary.createdAt`. */
  readonly createdAt: string;
  readonly id: string;
}

const SUMMARY = `
  r.id, ${textOfTime('r.created_at')} AS created_at_text, r.key_id, r.model,
  r.provider, r.operation, r.status, r.error_code, r.streamed, r.usage_estimated, r.attempts, r.first_token_ms,
  r.total_ms, r.charged_micro, r.input_text, r.input_cache_read, r.input_cache_write_5m, r.input_cache_write_1h,
  r.input_image, r.input_audio, r.output_text, r.output_reasoning, r.output_image, r.output_audio, r.images, r.seconds,
  r.characters`;

const DETAILS = `${SUMMARY}, COALESCE(r.deployment_uuid::text, r.deployment_id) AS deployment_id,
  COALESCE(r.price_version_uuid::text, r.price_version_id) AS price_version_id, r.hold_micro, r.uncollected_micro,
  r.attempt_log, r.priced_by, EXISTS (SELECT FROM media_job j
                        WHERE j.organization_id = r.organization_id AND j.id = r.id AND j.deleted_at IS NULL) AS has_job`;

const DAY_MS = 86_400_000;
/** A job ends up to 7 days after its submission, which is the time of its id. */
const DAYS_OF_JOB = 8;
/** The clock of the process that chose the id may be ahead of the database. */
const DAYS_AHEAD = 1;
const ID_DIGITS = 32;
const TIME_DIGITS = 12;

/** The ids, by whole days, of the requests that ended in a stretch; `middle` is between them. */
function idsOf({ startsAtMs, endsAtMs }: Stretch): { first: string; middle: string; end: string } {
  const startDay = Math.floor(startsAtMs / DAY_MS);
  const first = Math.max(0, startDay - DAYS_OF_JOB);
  const end = Math.floor(endsAtMs / DAY_MS) + DAYS_AHEAD + 1;
  return { first: firstIdOf(first), middle: firstIdOf(startDay), end: firstIdOf(end) };
}

/** The lowest UUIDv7 of a UTC day, counted from 1970. */
function firstIdOf(day: number): string {
  return (day * DAY_MS).toString(16).padStart(TIME_DIGITS, '0').padEnd(ID_DIGITS, '0');
}

/**
 * Two ranges instead of one: for a single range, PostgreSQL may read a partition through its primary key and then sort
 * all rows, although every row of the partition is in the range.
 */
function inRange(first: string, middle: string, end: string): string {
  return `(r.id >= ${first}::uuid AND r.id < ${middle}::uuid OR r.id >= ${middle}::uuid AND r.id < ${end}::uuid)`;
}

/** The receipts of requests. Sums are in `UsageTotalsRepository`. */
@Injectable()
export class RequestLogRepository {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(ReadDatabase) private readonly reads: Pick<ReadDatabase, 'query'>,
  ) {}

  /** Also finds a request that has just ended. `null`: the organization has no request with this id. */
  async find(organizationId: string, id: string): Promise<RequestDetails | null> {
    const [row] = await this.dataSource.query<RequestDetailsRow[]>(
      `SELECT ${DETAILS} FROM usage_record r WHERE r.id = $1 AND r.organization_id = $2`,
      [id, organizationId],
    );
    return row === undefined ? null : toDetails(row);
  }

  /** `null`: no price version has this id. */
  async findPrice(id: string): Promise<ChargedPrice | null> {
    const row = isUuid(id) ? await this.dataSource.manager.findOneBy(PriceVersionEntity, { id }) : null;
    return row === null || row.content === null ? null : (row as ChargedPrice);
  }

  /**
   * The requests in the stretches that match the filter and come after a position, newest first. Each stretch is read
   * backwards through the index on organization and time until `limit` requests match, so only rows within the
   * stretches are read. The first range of ids excludes partitions from the plan, the range of a stretch excludes them
   * from its execution.
   * @param stretches latest first
   */
  async list(
    organizationId: string,
    stretches: readonly Stretch[],
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
  ): Promise<RequestSummary[]> {
    const ranges = stretches.map(idsOf);
    const parameters: unknown[] = [
      organizationId,
      stretches.map(({ startsAtMs }) => new Date(startsAtMs)),
      stretches.map(({ endsAtMs }) => new Date(endsAtMs)),
      limit,
      ranges.map(({ first }) => first),
      ranges.map(({ middle }) => middle),
      ranges.map(({ end }) => end),
      ranges.at(-1)?.first,
      ranges.at(-1)?.middle,
      ranges[0]?.end,
    ];
    const conditions = conditionsOf(filter, after, (value) => `$${parameters.push(value)}`);
    const rows = await this.reads.query<RequestRow[]>(
      `SELECT found.*
         FROM unnest($2::timestamptz[], $3::timestamptz[], $5::uuid[], $6::uuid[], $7::uuid[]) WITH ORDINALITY
              AS stretch (starts_at, ends_at, first_id, middle_id, end_id, n),
         LATERAL (
           SELECT r.created_at, ${SUMMARY} FROM usage_record r
            WHERE r.organization_id = $1 AND r.created_at >= stretch.starts_at AND r.created_at < stretch.ends_at
                  AND ${inRange('$8', '$9', '$10')}
                  AND ${inRange('stretch.first_id', 'stretch.middle_id', 'stretch.end_id')}
                  ${conditions.map((condition) => `AND ${condition}`).join(' ')}
            ORDER BY r.created_at DESC, r.id DESC LIMIT $4
         ) found
       ORDER BY stretch.n, found.created_at DESC, found.id DESC LIMIT $4`,
      parameters,
    );
    return rows.map(toSummary);
  }
}

function conditionsOf(
  filter: RequestFilter,
  after: RequestPosition | null,
  bind: (value: unknown) => string,
): readonly string[] {
  const { keyId, model, status, modality, operation, errorCode, provider, minCostMicro, minTotalMs } = filter;
  return [
    ...(keyId === undefined ? [] : [`r.key_id = ${bind(keyId)}`]),
    ...(model === undefined ? [] : [`r.model = ${bind(model)}`]),
    ...(status === undefined ? [] : [`r.status ${status === 'success' ? '<' : '>='} 400`]),
    ...(modality === undefined ? [] : [`r.operation = ANY (${bind(operationsOf(modality))}::text[])`]),
    ...(operation === undefined ? [] : [`r.operation = ${bind(operation)}`]),
    ...(errorCode === undefined ? [] : [`r.error_code = ${bind(errorCode)}`]),
    ...(provider === undefined ? [] : [`r.provider = ${bind(provider)}`]),
    ...(minCostMicro === undefined ? [] : [`r.charged_micro >= ${bind(minCostMicro.toString())}::bigint`]),
    ...(minTotalMs === undefined ? [] : [`r.total_ms >= ${bind(minTotalMs)}`]),
    ...(after === null
      ? []
      : [`(r.created_at, r.id) < (${bind(after.createdAt)}::timestamptz, ${bind(after.id)}::uuid)`]),
  ];
}
