import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { JobHandle } from '../providers/contract/media-job';
import { type MediaArtifactRow, type MediaJobRow, toMediaArtifact, toMediaJob } from './media-job.row';
import { FINAL_STATUSES } from './media-job.states';
import type { DueJob, JobKind, MediaArtifact, MediaJob } from './media-job.types';

/** A wake-up is given this long to arrive before the sweep sends another one. */
const WAKE_UP_GRACE_SECONDS = 5;
/** A provider that does not listen is told so often, and no more: what it makes is not looked at. */
const MAX_CANCEL_ATTEMPTS = 5;

const FIND = `
  SELECT * FROM media_job
   WHERE id = $1 AND organization_id = $2 AND kind = COALESCE($3, kind) AND deleted_at IS NULL`;

/** A result whose time in the storage is over is none any more, whether or not it has been swept. */
const FIND_ARTIFACTS = `
  SELECT a.* FROM media_artifact a JOIN stored_object o ON o.key = a.storage_key AND o.delete_at > now()
   WHERE a.job_id = $1 ORDER BY a.position`;

/** Over `media_job_due_index`, the longest overdue first. A live lease means that somebody is at work. */
const FIND_DUE = `
  SELECT id, version, COALESCE(deployment_id, route[1]) AS lane FROM media_job
   WHERE completed_at IS NULL AND next_run_at <= now() - make_interval(secs => $1) AND expires_at > now()
     AND (lease_until IS NULL OR lease_until <= now())
     AND COALESCE(deployment_id, route[1], '') <> ALL ($3::text[])
   ORDER BY next_run_at LIMIT $2`;

/** Over `media_job_expiry_index`. Whoever is at work on one finds it ended. */
const FIND_EXPIRED = `
  SELECT * FROM media_job
   WHERE completed_at IS NULL AND expires_at <= now() AND organization_id <> ALL ($2::uuid[])
   ORDER BY expires_at LIMIT $1`;

/** Over `media_job_cancel_index`; the next try is due by then even if this worker dies: 5 s, 10 s, 20 s, 40 s later. */
const CLAIM_CANCELLATIONS = `
  UPDATE media_job j
     SET cancel_attempts = j.cancel_attempts + 1,
         cancel_due_at = CASE WHEN j.cancel_attempts + 1 < $2
                              THEN now() + 5 * 2 ^ j.cancel_attempts * interval '1 second' END
   WHERE j.id IN (SELECT id FROM media_job WHERE cancel_due_at <= now()
                   ORDER BY cancel_due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING *`;
const END_CANCELLATION = 'UPDATE media_job SET cancel_due_at = NULL WHERE id = $1';

const MARK_DELETED = `
  UPDATE media_job SET deleted_at = now(), version = version + 1
   WHERE id = $1 AND organization_id = $2 AND status = ANY ($3) AND deleted_at IS NULL
  RETURNING id`;

/** Over `media_job_deleted_index`. A provider may still have to be told to stop, for which the handle is needed. */
const FIND_DELETED = `
  SELECT id, organization_id AS "organizationId", kind
    FROM media_job WHERE deleted_at IS NOT NULL AND cancel_due_at IS NULL ORDER BY deleted_at LIMIT $1`;
const REMOVE_ARTIFACTS = `
  DELETE FROM media_artifact a USING media_job j WHERE j.id = $1 AND j.deleted_at IS NOT NULL AND a.job_id = j.id`;
/**
 * Over `media_artifact_created_index`: no object goes before its time, so that younger rows need no look. Each goes after
 * its object.
 */
const REMOVE_LOST_ARTIFACTS = `
  DELETE FROM media_artifact
   WHERE id IN (SELECT a.id FROM media_artifact a
                 WHERE a.created_at <= now() - make_interval(hours => $1)
                   AND NOT EXISTS (SELECT FROM stored_object o WHERE o.key = a.storage_key)
                 ORDER BY a.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING id`;
/** Its deliveries go with it; the reservation, the receipt and the idempotency record stay. */
const REMOVE = `
  DELETE FROM media_job WHERE id = $1 AND deleted_at IS NOT NULL AND cancel_due_at IS NULL
    AND NOT EXISTS (SELECT FROM media_artifact a WHERE a.job_id = $1)
  RETURNING id`;

/** A job of which nothing is to be left. */
export type DeletedJob = Pick<MediaJob, 'id' | 'organizationId' | 'kind'>;

/** A canceled or expired job that its provider has to be told of. */
export interface DueCancellation {
  readonly job: MediaJob;
  readonly handle: JobHandle;
}

/** Jobs as clients, sweeps and retention see them. What a worker does to its job is in `JobWorkRepository`. */
@Injectable()
export class MediaJobRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** `null` for a job of another organization, of another kind than the one asked for, or deleted. */
  async find(id: string, organizationId: string, kind: JobKind | null): Promise<MediaJob | null> {
    const [row] = await this.dataSource.query<MediaJobRow[]>(FIND, [id, organizationId, kind]);
    return row === undefined ? null : toMediaJob(row);
  }

  /** What can still be fetched, in the order in which the provider gave it. */
  async findArtifacts(jobId: string): Promise<MediaArtifact[]> {
    return (await this.dataSource.query<MediaArtifactRow[]>(FIND_ARTIFACTS, [jobId])).map(toMediaArtifact);
  }

  /**
   * Jobs that should have been woken and were not, or whose worker has died.
   * @param fullLanes whose jobs are passed over
   */
  findDue(limit: number, graceSeconds = WAKE_UP_GRACE_SECONDS, fullLanes: readonly string[] = []): Promise<DueJob[]> {
    return this.dataSource.query<DueJob[]>(FIND_DUE, [graceSeconds, limit, fullLanes]);
  }

  /**
   * Jobs whose time is over; each is then to be ended as `expired`.
   * @param heldUp organizations whose jobs are passed over
   */
  async findExpired(limit: number, heldUp: readonly string[] = []): Promise<MediaJob[]> {
    return (await this.dataSource.query<MediaJobRow[]>(FIND_EXPIRED, [limit, heldUp])).map(toMediaJob);
  }

  /** Takes up to `limit` jobs whose providers have to be told, each at most five times until {@link endCancellation}. */
  async claimCancellations(limit: number): Promise<DueCancellation[]> {
    const rows = await this.change<MediaJobRow>(CLAIM_CANCELLATIONS, [limit, MAX_CANCEL_ATTEMPTS]);
    return rows.map(toMediaJob).flatMap((job) => (job.handle === null ? [] : [{ job, handle: job.handle }]));
  }

  /** The provider has been told, or it is too late. */
  async endCancellation(id: string): Promise<void> {
    await this.change(END_CANCELLATION, [id]);
  }

  /** From then on it does not exist for clients. `false`: it has not ended, is deleted already, or is not theirs. */
  async markDeleted(id: string, organizationId: string): Promise<boolean> {
    return (await this.change(MARK_DELETED, [id, organizationId, FINAL_STATUSES])).length > 0;
  }

  /** Deleted jobs whose rows are still there. */
  findDeleted(limit: number): Promise<DeletedJob[]> {
    return this.dataSource.query<DeletedJob[]>(FIND_DELETED, [limit]);
  }

  /** Of a deleted job. To be called when their objects are gone. */
  async removeArtifacts(jobId: string): Promise<void> {
    await this.change(REMOVE_ARTIFACTS, [jobId]);
  }

  /**
   * The rows of results whose time in the storage is over and that have gone from there. Answers with how many there were.
   * @param retentionHours the shortest time that a result is kept for
   */
  async removeLostArtifacts(retentionHours: number, limit: number): Promise<number> {
    return (await this.change(REMOVE_LOST_ARTIFACTS, [retentionHours, limit])).length;
  }

  /** `false`: it is not deleted, has artifacts left, or its provider has still to be told to stop. */
  async remove(id: string): Promise<boolean> {
    return (await this.change(REMOVE, [id])).length > 0;
  }

  /** TypeORM answers a statement that writes with its rows and their number. */
  private async change<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const [rows] = await this.dataSource.query<[Row[], number]>(text, values);
    return rows;
  }
}
