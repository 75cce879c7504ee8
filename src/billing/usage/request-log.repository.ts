import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { textOfTime } from '../../core/types/page';
import { isUuid } from '../../core/types/require-uuid';
import { PriceVersionEntity } from '../../core/database/entities/price-version.entity';
import type { Stretch } from './busy-stretches';
import { operationsOf } from './operations';
import { type RequestRow, type RequestDetailsRow, toDetails, toSummary } from './request-row';
import type { ChargedPrice, RequestDetails, RequestFilter, RequestSummary } from './usage.types';

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

const DETAILS = `${SUMMARY}, r.deployment_id, r.price_version_id, r.hold_micro, r.uncollected_micro, r.attempt_log,
  r.priced_by, EXISTS (SELECT FROM media_job j WHERE j.id = r.id AND j.deleted_at IS NULL) AS has_job`;

/** The receipts of requests. Sums are in `UsageTotalsRepository`. */
@Injectable()
export class RequestLogRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** `null`: the organization has no request of this id. */
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
   * backwards through the index on organization and time until `limit` requests match, so that only rows within the
   * stretches are read.
   */
  async list(
    organizationId: string,
    stretches: readonly Stretch[],
    filter: RequestFilter,
    after: RequestPosition | null,
    limit: number,
  ): Promise<RequestSummary[]> {
    const parameters: unknown[] = [
      organizationId,
      stretches.map(({ startsAtMs }) => new Date(startsAtMs)),
      stretches.map(({ endsAtMs }) => new Date(endsAtMs)),
      limit,
    ];
    const conditions = conditionsOf(filter, after, (value) => `$${parameters.push(value)}`);
    const rows = await this.dataSource.query<RequestRow[]>(
      `SELECT found.* FROM unnest($2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY AS stretch (starts_at, ends_at, n),
         LATERAL (
           SELECT r.created_at, ${SUMMARY} FROM usage_record r
            WHERE r.organization_id = $1 AND r.created_at >= stretch.starts_at AND r.created_at < stretch.ends_at
                  ${conditions.map((condition) => `AND ${condition}`).join(' ')}
            ORDER BY r.created_at DESC, r.id DESC LIMIT $4
         ) found
       ORDER BY stretch.n, found.created_at DESC, found.id DESC LIMIT $4`,
      parameters,
    );
    return rows.map(toSummary);
  }

  /** From the first to the last stored receipt; `null`: there is none. */
  async findPeriod(organizationId: string): Promise<Stretch | null> {
    const [row] = await this.dataSource.query<{ first: Date | null; last: Date | null }[]>(
      'SELECT min(created_at) AS first, max(created_at) AS last FROM usage_record WHERE organization_id = $1',
      [organizationId],
    );
    if (row === undefined || row.first === null || row.last === null) return null;
    // `Date` drops the microseconds.
    return { startsAtMs: row.first.getTime(), endsAtMs: row.last.getTime() + 1 };
  }

  /** Deletes at most `limit` receipts older than `before`, skipping rows locked by other processes; returns how many. */
  async prune(before: Date, limit: number): Promise<number> {
    const [row] = await this.dataSource.query<{ removed: number }[]>('SELECT usage_prune($1, $2) AS removed', [
      before,
      limit,
    ]);
    return row?.removed ?? 0;
  }
}

function conditionsOf(
  filter: RequestFilter,
  after: RequestPosition | null,
  bind: (value: unknown) => string,
): readonly string[] {
  const { keyId, model, status, modality, operation, errorCode } = filter;
  return [
    ...(keyId === undefined ? [] : [`r.key_id = ${bind(keyId)}`]),
    ...(model === undefined ? [] : [`r.model = ${bind(model)}`]),
    ...(status === undefined ? [] : [`r.status ${status === 'success' ? '<' : '>='} 400`]),
    ...(modality === undefined ? [] : [`r.operation = ANY (${bind(operationsOf(modality))}::text[])`]),
    ...(operation === undefined ? [] : [`r.operation = ${bind(operation)}`]),
    ...(errorCode === undefined ? [] : [`r.error_code = ${bind(errorCode)}`]),
    ...(after === null
      ? []
      : [`(r.created_at, r.id) < (${bind(after.createdAt)}::timestamptz, ${bind(after.id)}::uuid)`]),
  ];
}
