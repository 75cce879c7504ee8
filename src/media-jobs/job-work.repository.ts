import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { JobAdapter, JobHandle } from '../providers/contract/media-job';
import { type MediaJobRow, toMediaJob } from './media-job.row';
import type { JobClaim, JobKey, JobWakeUp, MediaJob } from './media-job.types';

/** A worker that does not renew its lease within this time loses the job. Workers renew four times per lease. */
const LEASE_SECONDS = 60;

/**
 * Claims the job and creates a new fence, which the worker's later writes require until it releases the lease or
 * another worker claims the job. A claim requires the version that was read: if the job has changed since, nothing is
 * claimed.
 */
const CLAIM = `
  UPDATE media_job j
     SET lease_owner = $4, lease_until = now() + make_interval(secs => $5), fence = j.fence + 1, version = j.version + 1
   WHERE j.organization_id = $1
     AND j.id = (SELECT id FROM media_job
                  WHERE organization_id = $1 AND id = $2 AND version = $3 AND completed_at IS NULL AND expires_at > now()
                    AND (lease_until IS NULL OR lease_until <= now())
                    FOR UPDATE SKIP LOCKED)
  RETURNING *`;

/** Each step is one statement that applies only with the newest fence. */
const OWNED = 'organization_id = $1 AND id = $2 AND fence = $3';
const RELEASED = 'lease_owner = NULL, lease_until = NULL';
const nextRunIn = (parameter: string): string =>
  `next_run_at = now() + ${parameter}::float8 * interval '1 millisecond'`;

/** No provider has accepted the job. `submitted` occurs here only after a synchronous provider. */
const UNSENT = `status IN ('queued', 'submitted') AND provider_handle IS NULL`;

const RENEW = `
  UPDATE media_job SET lease_until = now() + make_interval(secs => $4)
   WHERE ${OWNED} AND completed_at IS NULL AND lease_owner IS NOT NULL
  RETURNING version`;

/** Rescheduling an accepted job counts as a poll, whatever the result, so that the next pause can grow. */
const RESCHEDULE = `
  UPDATE media_job
     SET version = version + 1, polls = polls + (provider_handle IS NOT NULL)::integer, ${nextRunIn('$4')}, ${RELEASED}
   WHERE ${OWNED} AND completed_at IS NULL
  RETURNING version`;

const ONE_MORE_SETBACK = 'setbacks = LEAST(setbacks + 1, 1000), setback_since = COALESCE(setback_since, now())';
const NO_SETBACKS = 'setbacks = 0, setback_since = NULL';

const RECORD_SETBACK = `
  UPDATE media_job
     SET version = version + 1, polls = polls + (provider_handle IS NOT NULL)::integer, ${nextRunIn('$4')}, ${RELEASED},
         ${ONE_MORE_SETBACK}
   WHERE ${OWNED} AND completed_at IS NULL
  RETURNING version`;

const STORE_INPUT_TYPES = `
  UPDATE media_job SET version = version + 1, input_types = $4::jsonb, next_run_at = now(), ${RELEASED}
   WHERE ${OWNED} AND completed_at IS NULL
  RETURNING version`;

const BEGIN_SUBMISSION = `
  UPDATE media_job
     SET version = version + 1, submissions = submissions + 1, submit_started_at = now(),
         provider = $4, deployment_id = $5, price_version_id = $6, provider_token = id || '-' || (submissions + 1),
         submission_account = $8,
         status = CASE WHEN $7 THEN 'submitted' ELSE status END,
         started_at = CASE WHEN $7 THEN COALESCE(started_at, now()) ELSE started_at END
   WHERE ${OWNED} AND ${UNSENT} AND submit_started_at IS NULL
  RETURNING provider_token`;

const WITHDRAW_SUBMISSION = `
  UPDATE media_job
     SET version = version + 1, submit_started_at = NULL, ${nextRunIn('$4')}, ${RELEASED}, ${ONE_MORE_SETBACK}
   WHERE ${OWNED} AND ${UNSENT}
  RETURNING version`;

/**
 * A job that was canceled or expired in the meantime keeps that state, but stores the handle so that it can be canceled
 * at its provider.
 */
const STORE_HANDLE = `
  UPDATE media_job
     SET version = version + 1, provider_handle = $4::jsonb, ${nextRunIn('$5')}, ${RELEASED}, ${NO_SETBACKS},
         status = CASE WHEN completed_at IS NULL THEN 'submitted' ELSE status END,
         started_at = CASE WHEN completed_at IS NULL THEN COALESCE(started_at, now()) ELSE started_at END,
         cancel_due_at = CASE WHEN completed_at IS NOT NULL THEN now() END
   WHERE ${OWNED} AND submit_started_at IS NOT NULL
     AND (${UNSENT} OR (completed_at IS NOT NULL AND provider_handle IS NULL))
  RETURNING version, completed_at IS NULL AS is_under_way`;

const POLLED = `
  version = version + 1, polls = polls + 1, ${nextRunIn('$4')}, ${RELEASED}, ${NO_SETBACKS},
  status = CASE WHEN $5 THEN 'running' ELSE status END, progress = GREATEST(progress, $6::smallint)`;

const RECORD_POLL = `
  UPDATE media_job SET ${POLLED}
   WHERE ${OWNED} AND status IN ('submitted', 'running')
  RETURNING version`;

/**
 * Records a poll that was made without a claim. Applies only to the version that was polled, since every claim creates
 * a new one.
 */
const RECORD_UNCLAIMED_POLL = `
  UPDATE media_job SET ${POLLED}
   WHERE organization_id = $1 AND id = $2 AND version = $3 AND status IN ('submitted', 'running') AND expires_at > now()
  RETURNING version`;

const BEGIN_FINALIZING = `
  UPDATE media_job SET version = version + 1, status = 'running', finalizing_at = COALESCE(finalizing_at, now())
   WHERE ${OWNED} AND status IN ('submitted', 'running')
  RETURNING version`;

/** The deployment that a job is about to be submitted to. */
export interface SubmissionTarget {
  readonly provider: string;
  readonly deploymentId: string;
  readonly priceVersionId: string;
  readonly mode: JobAdapter['mode'];
  /** Absent: the provider has one account, or does not deduplicate. */
  readonly account?: string;
}

/** The result of a poll. */
export interface PollFindings {
  readonly isRunning: boolean;
  /** Percent; `null`: the provider does not report it. */
  readonly progress: number | null;
}

interface VersionRow {
  readonly version: number;
}

interface StoredHandleRow extends VersionRow {
  readonly is_under_way: boolean;
}

/**
 * The writes of a worker to its job. Each returns `null` and changes nothing when the job has ended or belongs to
 * another worker. Writes that end a step release the lease and return the new version.
 */
@Injectable()
export class JobWorkRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Claims the job for `leaseSeconds` if this is its current version and no other worker holds it. */
  async claim(
    { organizationId, id, version }: JobWakeUp,
    owner: string,
    leaseSeconds = LEASE_SECONDS,
  ): Promise<MediaJob | null> {
    const [row] = await this.change<MediaJobRow>(CLAIM, [organizationId, id, version, owner, leaseSeconds]);
    return row === undefined ? null : toMediaJob(row);
  }

  /** `false`: the lease is lost, and the worker should stop. */
  async renewLease(claim: JobClaim, leaseSeconds = LEASE_SECONDS): Promise<boolean> {
    return (await this.changeOwned(claim, RENEW, leaseSeconds)).length > 0;
  }

  /** Releases the lease without a result, for example after a poll without a response. */
  reschedule(claim: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endStep(claim, RESCHEDULE, nextRunInMs);
  }

  /**
   * Ends a step with a setback: no provider accepted the job, or the provider no longer knew the job or lacked its
   * announced result. All of these may be transient. Storing a handle or a successful poll resets the count.
   */
  recordSetback(claim: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endStep(claim, RECORD_SETBACK, nextRunInMs);
  }

  /** Ends the step that fetched and stored the images of the job. @param types content types, by field */
  storeInputTypes(claim: JobClaim, types: Readonly<Record<string, string>>): Promise<JobWakeUp | null> {
    return this.endStep(claim, STORE_INPUT_TYPES, JSON.stringify(types));
  }

  /**
   * Must be committed before the provider is called, because from then on the job may have been accepted. Returns the
   * token. With a synchronous provider the job becomes `submitted` at once, otherwise when its handle is stored.
   */
  async beginSubmission(claim: JobClaim, target: SubmissionTarget): Promise<string | null> {
    const { provider, deploymentId, priceVersionId, mode, account } = target;
    const values = [provider, deploymentId, priceVersionId, mode === 'sync', account ?? null];
    const [row] = await this.changeOwned<{ provider_token: string }>(claim, BEGIN_SUBMISSION, ...values);
    return row?.provider_token ?? null;
  }

  /** Ends a submission that the provider definitely did not accept, so that another submission may follow. */
  withdrawSubmission(claim: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endStep(claim, WITHDRAW_SUBMISSION, nextRunInMs);
  }

  /**
   * Records that the provider has accepted the job, before the first poll. Returns `null` when the job was canceled or
   * expired meanwhile; it is then canceled at its provider (`MediaJobRepository.claimCancellations`).
   */
  async storeHandle(claim: JobClaim, handle: JobHandle, nextRunInMs: number): Promise<JobWakeUp | null> {
    const values = [JSON.stringify(handle), nextRunInMs];
    const [row] = await this.changeOwned<StoredHandleRow>(claim, STORE_HANDLE, ...values);
    return row?.is_under_way === true ? wakeUpOf(claim, row) : null;
  }

  /** Records a poll. Progress only grows, and a running job does not return to waiting. */
  recordPoll(claim: JobClaim, { isRunning, progress }: PollFindings, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endStep(claim, RECORD_POLL, nextRunInMs, isRunning, toPercent(progress));
  }

  /** {@link recordPoll} without a claim. `null`: the job has changed since this version, or is past its deadline. */
  async recordUnclaimedPoll(
    { organizationId, id, version }: JobWakeUp,
    { isRunning, progress }: PollFindings,
    nextRunInMs: number,
  ): Promise<JobWakeUp | null> {
    const values = [organizationId, id, version, nextRunInMs, isRunning, toPercent(progress)];
    const [row] = await this.change<VersionRow>(RECORD_UNCLAIMED_POLL, values);
    return row === undefined ? null : wakeUpOf({ organizationId, id }, row);
  }

  /**
   * Call this when the provider has finished and will bill: for 60 seconds from the first call, the job cannot be
   * canceled. Repeat before each attempt.
   */
  async beginFinalizing(claim: JobClaim): Promise<boolean> {
    return (await this.changeOwned(claim, BEGIN_FINALIZING)).length > 0;
  }

  private async endStep(claim: JobClaim, text: string, ...values: unknown[]): Promise<JobWakeUp | null> {
    const [row] = await this.changeOwned<VersionRow>(claim, text, ...values);
    return row === undefined ? null : wakeUpOf(claim, row);
  }

  /** Runs a statement with `OWNED`. @param values its parameters from `$4` on */
  private changeOwned<Row>(
    { organizationId, id, fence }: JobClaim,
    text: string,
    ...values: unknown[]
  ): Promise<Row[]> {
    return this.change<Row>(text, [organizationId, id, fence, ...values]);
  }

  /** For a write, TypeORM returns the rows and their count. */
  private async change<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const [rows] = await this.dataSource.query<[Row[], number]>(text, values);
    return rows;
  }
}

function wakeUpOf({ organizationId, id }: JobKey, { version }: VersionRow): JobWakeUp {
  return { organizationId, id, version };
}

/** Clamps to 0..99, since providers report arbitrary values. 100 is reserved for a job that has ended. */
function toPercent(progress: number | null): number | null {
  if (progress === null || Number.isNaN(progress)) return null;
  return Math.floor(Math.min(99, Math.max(0, progress)));
}
