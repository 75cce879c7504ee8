import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { decodeCursor } from '../core/types/cursor';
import { type PageRequest, textOfTime } from '../core/types/page';
import { type MediaJobRow, toMediaJob } from './media-job.row';
import type { JobStatus } from './media-job.states';
import type { JobKind, MediaJob } from './media-job.types';

/** An absent member does not filter. */
export interface JobFilter {
  readonly kind?: JobKind;
  readonly status?: JobStatus;
  readonly model?: string;
  readonly keyId?: string;
  /** Submitted at this time or later. */
  readonly from?: Date;
  /** Submitted before this time. */
  readonly to?: Date;
}

/** `created_at` at full precision: with the id, it forms the cursor. */
export interface ListedJob extends MediaJob {
  readonly createdAtText: string;
}

/** Uses `media_job_organization_index`. */
const LIST = `
  SELECT j.*, ${textOfTime('j.created_at')} AS created_at_text
    FROM media_job j
   WHERE j.organization_id = $1 AND j.deleted_at IS NULL
     AND ($2::text IS NULL OR j.kind = $2) AND ($3::text IS NULL OR j.status = $3) AND ($4::text IS NULL OR j.model = $4)
     AND ($5::uuid IS NULL OR j.key_id = $5)
     AND ($6::timestamptz IS NULL OR j.created_at >= $6) AND ($7::timestamptz IS NULL OR j.created_at < $7)
     AND ($8::timestamptz IS NULL OR (j.created_at, j.id) < ($8, $9::uuid))
   ORDER BY j.created_at DESC, j.id DESC LIMIT $10`;

/** Lists the jobs of an organization across all its keys. */
@Injectable()
export class JobListingRepository {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Newest first, with one row more than `limit` when there is another page. @throws GatewayError for an invalid cursor
   */
  async list(
    organizationId: string,
    { kind, status, model, keyId, from, to }: JobFilter,
    { limit, cursor }: PageRequest,
  ): Promise<ListedJob[]> {
    const filters = [kind, status, model, keyId, from, to].map((value) => value ?? null);
    const after = cursor === null ? [null, null] : decodeCursor(cursor, ['time', 'uuid']);
    const values = [organizationId, ...filters, ...after, limit + 1];
    const rows = await this.dataSource.query<(MediaJobRow & { readonly created_at_text: string })[]>(LIST, values);
    return rows.map((row) => ({ ...toMediaJob(row), createdAtText: row.created_at_text }));
  }
}
