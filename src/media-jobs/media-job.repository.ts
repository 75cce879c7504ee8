import { recordAudit, type AuditRecord } from '../core/database/audit-log';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { JobHandle } from '../providers/contract/media-job';
import { LANE, NEEDS_INPUTS, type JobPool } from './job-lane';
import { type MediaArtifactRow, type MediaJobRow, toMediaArtifact, toMediaJob } from './media-job.row';
import { FINAL_STATUSES } from './media-job.states';
import type { DueJob, JobKey, JobKind, MediaArtifact, MediaJob } from './media-job.types';

/** How long the sweep waits for a wake-up before it takes the job. */
const WAKE_UP_GRACE_SECONDS = 5;
/** How often a cancellation is sent to a provider that does not confirm it. */
const MAX_CANCEL_ATTEMPTS = 5;

const FIND = `
  SELECT * FROM media_job
   WHERE organization_id = $1 AND id = $2 AND kind = COALESCE($3, kind) AND deleted_at IS NULL`;

/** Excludes results past their retention, whether or not they have been swept. */
const FIND_ARTIFACTS = `
  SELECT a.*, o.delete_at FROM media_artifact a JOIN stored_object o ON o.key = a.storage_key AND o.delete_at > now()
   WHERE a.organization_id = $1 AND a.job_id = $2 ORDER BY a.position`;

/** While a worker holds the job under a live lease, that worker schedules the next step. */
const FIND_NEXT_STEP = `
  SELECT organization_id AS "organizationId", id, version, ${LANE} AS lane,
         GREATEST(0, extract(epoch FROM next_run_at - clock_timestamp()) * 1000)::float8 AS "inMs"
    FROM media_job
   WHERE organization_id = $1 AND id = $2 AND completed_at IS NULL AND expires_at > now()
     AND (lease_until IS NULL OR lease_until <= now())`;

/** Only a poll can be brought forward, not a submission, and only for the submission that the report is about. */
const BRING_POLL_FORWARD = `
  UPDATE media_job SET next_run_at = now()
   WHERE organization_id = $1 AND id = $2 AND provider_token = $3 AND completed_at IS NULL
     AND provider_handle IS NOT NULL AND next_run_at > now() AND (lease_until IS NULL OR lease_until <= now())
  RETURNING id`;

/**
 * The submission that a report may bring forward. Uses `media_job_id_index`, because the address of a report contains
 * no organization.
 */
const FIND_REPORTED = `
  SELECT organization_id AS "organizationId", id, provider, kind, provider_handle ->> 'keyId' AS "keyId" FROM media_job
   WHERE id = $1 AND provider_token = $2 AND completed_at IS NULL AND provider_handle IS NOT NULL`;

/** Uses `media_job_due_index`, longest overdue first. Skips jobs that a worker holds under a live lease. */
const FIND_DUE = `
  SELECT organization_id AS "organizationId", id, version, ${LANE} AS lane FROM media_job
   WHERE completed_at IS NULL AND next_run_at <= now() - make_interval(secs => $1) AND expires_at > now()
     AND (lease_until IS NULL OR lease_until <= now())
     AND ${NEEDS_INPUTS} = $4 AND ${LANE} <> ALL ($3::text[])
   ORDER BY next_run_at LIMIT $2`;

/** Uses `media_job_expiry_index`. A worker that holds an expired job finds out at its next write. */
const FIND_EXPIRED = `
  SELECT * FROM media_job
   WHERE completed_at IS NULL AND expires_at <= now() AND organization_id <> ALL ($2::uuid[])
     AND id <> ALL ($3::uuid[])
   ORDER BY expires_at LIMIT $1`;

/**
 * Uses `media_job_cancel_index`. Schedules the next attempt now (5 s, 10 s, 20 s, 40 s) in case this worker dies.
 */
const CLAIM_CANCELLATIONS = `
  UPDATE media_job j
     SET cancel_attempts = j.cancel_attempts + 1,
         cancel_due_at = CASE WHEN j.cancel_attempts + 1 < $2
                              THEN now() + 5 * 2 ^ j.cancel_attempts * interval '1 second' END
   WHERE (j.organization_id, j.id) IN (SELECT organization_id, id FROM media_job WHERE cancel_due_at <= now()
                                        ORDER BY cancel_due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING *`;
const END_CANCELLATION = 'UPDATE media_job SET cancel_due_at = NULL WHERE organization_id = $1 AND id = $2';

const MARK_DELETED = `
  UPDATE media_job SET deleted_at = now(), version = version + 1
   WHERE organization_id = $1 AND id = $2 AND status = ANY ($3) AND deleted_at IS NULL
  RETURNING id`;

/**
 * Uses `media_job_completed_index`. A job stays until its webhook was delivered or given up, which takes up to two
 * days, because deleting the job would withdraw the webhook.
 */
const MARK_PAST_RETENTION = `
  UPDATE media_job SET deleted_at = now(), version = version + 1
   WHERE (organization_id, id) IN (
           SELECT organization_id, id FROM media_job j
            WHERE completed_at <= now() - make_interval(hours => $1) AND deleted_at IS NULL
              AND NOT EXISTS (SELECT FROM webhook_delivery w
                               WHERE w.organization_id = j.organization_id AND w.job_id = j.id AND w.state = 'pending')
            ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING id`;

/** Uses `media_job_deleted_index`. A pending cancellation still needs the handle. */
const FIND_DELETED = `
  SELECT id, organization_id AS "organizationId", kind
    FROM media_job WHERE deleted_at IS NOT NULL AND cancel_due_at IS NULL ORDER BY deleted_at LIMIT $1`;
const REMOVE_ARTIFACTS = `
  DELETE FROM media_artifact a USING media_job j
   WHERE j.organization_id = $1 AND j.id = $2 AND j.deleted_at IS NOT NULL
     AND a.organization_id = j.organization_id AND a.job_id = j.id`;
/**
 * Uses `media_artifact_created_index`. Storage deletes no object before its retention ends, so younger rows are
 * skipped. A row is removed only after its object.
 */
const REMOVE_LOST_ARTIFACTS = `
  DELETE FROM media_artifact
   WHERE (organization_id, job_id, position) IN (
           SELECT a.organization_id, a.job_id, a.position FROM media_artifact a
            WHERE a.created_at <= now() - make_interval(hours => $1)
              AND NOT EXISTS (SELECT FROM stored_object o WHERE o.key = a.storage_key)
            ORDER BY a.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING id`;
/**
 * Keeps the reservation, the receipt, the idempotency record and the delivery log. Withdraws pending deliveries; a post
 * in progress is recorded when it ends, and its next attempt finds no job.
 */
const REMOVE = `
  WITH removed AS (
    DELETE FROM media_job WHERE organization_id = $1 AND id = $2 AND deleted_at IS NOT NULL AND cancel_due_at IS NULL
      AND NOT EXISTS (SELECT FROM media_artifact a WHERE a.organization_id = $1 AND a.job_id = $2)
    RETURNING organization_id, id),
  withdrawn AS (
    UPDATE webhook_delivery w SET state = 'withdrawn', ended_at = now(), lease_until = NULL
      FROM removed r
     WHERE w.organization_id = r.organization_id AND w.job_id = r.id AND w.state = 'pending'
       AND (w.lease_until IS NULL OR w.lease_until <= now()))
  SELECT id FROM removed`;

/** A deleted job whose objects and rows remain. */
export type DeletedJob = Pick<MediaJob, 'id' | 'organizationId' | 'kind'>;

/** A reported job, with the facts that identify the sender of the report. */
export interface ReportedJob extends JobKey {
  readonly provider: string;
  readonly kind: JobKind;
  /** `null`: the provider has one key. */
  readonly keyId: string | null;
}

/** A canceled or expired job that must be canceled at its provider. */
export interface DueCancellation {
  readonly job: MediaJob;
  readonly handle: JobHandle;
}

/** Reads and removes jobs for clients, sweeps and retention. The writes of workers are in `JobWorkRepository`. */
@Injectable()
export class MediaJobRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** `null` for a job of another organization or kind, or a deleted one. */
  async find(id: string, organizationId: string, kind: JobKind | null): Promise<MediaJob | null> {
    const [row] = await this.dataSource.query<MediaJobRow[]>(FIND, [organizationId, id, kind]);
    return row === undefined ? null : toMediaJob(row);
  }

  /** The artifacts that can still be fetched, in the provider's order. */
  async findArtifacts({ organizationId, id }: JobKey): Promise<MediaArtifact[]> {
    return (await this.dataSource.query<MediaArtifactRow[]>(FIND_ARTIFACTS, [organizationId, id])).map(toMediaArtifact);
  }

  /** The next step of a job and when it is due. `null`: the job has ended or a worker holds it. */
  async findNextStep({ organizationId, id }: JobKey): Promise<(DueJob & { readonly inMs: number }) | null> {
    const [row] = await this.dataSource.query<(DueJob & { readonly inMs: number })[]>(FIND_NEXT_STEP, [
      organizationId,
      id,
    ]);
    return row ?? null;
  }

  /** `null`: the submission is not the job's latest, its provider has not accepted it, or the job has ended. */
  async findReported(id: string, providerToken: string): Promise<ReportedJob | null> {
    const [row] = await this.dataSource.query<ReportedJob[]>(FIND_REPORTED, [id, providerToken]);
    return row ?? null;
  }

  /** Makes the next poll of a submission due now. `false`: there is none to bring forward. */
  async bringPollForward({ organizationId, id }: JobKey, providerToken: string): Promise<boolean> {
    const [rows] = await this.dataSource.query<[unknown[], number]>(BRING_POLL_FORWARD, [
      organizationId,
      id,
      providerToken,
    ]);
    return rows.length > 0;
  }

  /**
   * Due jobs whose wake-up was lost or whose worker has died.
   * @param pool the pool of their next step
   * @param fullLanes lanes to skip
   */
  findDue(
    limit: number,
    graceSeconds = WAKE_UP_GRACE_SECONDS,
    pool: JobPool = 'providers',
    fullLanes: readonly string[] = [],
  ): Promise<DueJob[]> {
    return this.dataSource.query<DueJob[]>(FIND_DUE, [graceSeconds, limit, fullLanes, pool === 'inputs']);
  }

  /**
   * Jobs past their deadline, to be ended as `expired`.
   * @param blocked organizations to skip
   * @param rejected ids of jobs to skip
   */
  async findExpired(
    limit: number,
    blocked: Iterable<string> = [],
    rejected: Iterable<string> = [],
  ): Promise<MediaJob[]> {
    const values = [limit, [...blocked], [...rejected]];
    return (await this.dataSource.query<MediaJobRow[]>(FIND_EXPIRED, values)).map(toMediaJob);
  }

  /** Claims up to `limit` jobs to cancel at their providers, each at most five times until {@link endCancellation}. */
  async claimCancellations(limit: number): Promise<DueCancellation[]> {
    const rows = await this.change<MediaJobRow>(CLAIM_CANCELLATIONS, [limit, MAX_CANCEL_ATTEMPTS]);
    return rows.map(toMediaJob).flatMap((job) => (job.handle === null ? [] : [{ job, handle: job.handle }]));
  }

  /** Records that the provider confirmed the cancellation, or that it came too late. */
  async endCancellation({ organizationId, id }: JobKey): Promise<void> {
    await this.change(END_CANCELLATION, [organizationId, id]);
  }

  /**
   * Hides the job from clients. `false`: it has not ended, is already deleted, or belongs to another organization.
   * @param audit written in the same transaction.
   */
  markDeleted(id: string, organizationId: string, audit: AuditRecord | null = null): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      const [rows] = await manager.query<[object[], number]>(MARK_DELETED, [organizationId, id, FINAL_STATUSES]);
      if (rows.length > 0 && audit !== null) await recordAudit(manager, audit);
      return rows.length > 0;
    });
  }

  /** Deletes jobs that ended at least this long ago, except those with a pending webhook. Returns how many. */
  async markPastRetention(retentionHours: number, limit: number): Promise<number> {
    return (await this.change(MARK_PAST_RETENTION, [retentionHours, limit])).length;
  }

  /** Deleted jobs whose rows remain. */
  findDeleted(limit: number): Promise<DeletedJob[]> {
    return this.dataSource.query<DeletedJob[]>(FIND_DELETED, [limit]);
  }

  /** Removes the artifact rows of a deleted job. Call after their objects are deleted. */
  async removeArtifacts({ organizationId, id }: JobKey): Promise<void> {
    await this.change(REMOVE_ARTIFACTS, [organizationId, id]);
  }

  /**
   * Removes the rows of results that storage has deleted after their retention. Returns their number.
   * @param retentionHours the shortest retention of a result
   */
  async removeLostArtifacts(retentionHours: number, limit: number): Promise<number> {
    return (await this.change(REMOVE_LOST_ARTIFACTS, [retentionHours, limit])).length;
  }

  /** `false`: it is not deleted, has artifacts left, or its cancellation at the provider is pending. */
  async remove({ organizationId, id }: JobKey): Promise<boolean> {
    return (await this.dataSource.query<unknown[]>(REMOVE, [organizationId, id])).length > 0;
  }

  /** For a write, TypeORM returns the rows and their count. */
  private async change<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const [rows] = await this.dataSource.query<[Row[], number]>(text, values);
    return rows;
  }
}
