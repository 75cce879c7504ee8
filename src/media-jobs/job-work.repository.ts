import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { JobAdapter, JobHandle } from '../providers/contract/media-job';
import { type MediaJobRow, toMediaJob } from './media-job.row';
import type { JobClaim, JobWakeUp, MediaJob } from './media-job.types';

/** A worker that has not been heard of for so long has lost its jobs; it renews four times as often. */
export const LEASE_SECONDS = 60;

/**
 * Whatever the worker does next takes place under this fence, until the lease is given back or another worker claims the
 * job. A wake-up is for one version: a late or doubled one claims nothing.
 */
const CLAIM = `
  UPDATE media_job j
     SET lease_owner = $3, lease_until = now() + make_interval(secs => $4), fence = j.fence + 1, version = j.version + 1
   WHERE j.id = (SELECT id FROM media_job
                  WHERE id = $1 AND version = $2 AND completed_at IS NULL AND expires_at > now()
                    AND (lease_until IS NULL OR lease_until <= now())
                    FOR UPDATE SKIP LOCKED)
  RETURNING *`;

/** Each step is one statement that holds only for the worker with the newest fence. */
const OWNED = 'id = $1 AND fence = $2';
const RELEASED = 'lease_owner = NULL, lease_until = NULL';
const nextRunIn = (parameter: string): string =>
  `next_run_at = now() + ${parameter}::float8 * interval '1 millisecond'`;

/** Not accepted by any provider; `submitted` only where the last one is waited for. */
const UNSENT = `status IN ('queued', 'submitted') AND provider_handle IS NULL`;

const RENEW = `
  UPDATE media_job SET lease_until = now() + make_interval(secs => $3)
   WHERE ${OWNED} AND completed_at IS NULL AND lease_owner IS NOT NULL
  RETURNING version`;

/** A turn in which an accepted job was asked about counts as a poll, whatever came of it: the next one may wait longer. */
const RESCHEDULE = `
  UPDATE media_job
     SET version = version + 1, polls = polls + (provider_handle IS NOT NULL)::integer, ${nextRunIn('$3')}, ${RELEASED}
   WHERE ${OWNED} AND completed_at IS NULL
  RETURNING version`;

const RECORD_SETBACK = `
  UPDATE media_job
     SET version = version + 1, polls = polls + 1, ${nextRunIn('$3')}, ${RELEASED},
         setbacks = LEAST(setbacks + 1, 1000), setback_since = COALESCE(setback_since, now())
   WHERE ${OWNED} AND completed_at IS NULL
  RETURNING version`;

const BEGIN_SUBMISSION = `
  UPDATE media_job
     SET version = version + 1, submissions = submissions + 1, submit_started_at = now(),
         provider = $3, deployment_id = $4, price_version_id = $5, provider_token = id || '-' || (submissions + 1),
         status = CASE WHEN $6 THEN 'submitted' ELSE status END,
         started_at = CASE WHEN $6 THEN COALESCE(started_at, now()) ELSE started_at END
   WHERE ${OWNED} AND ${UNSENT} AND submit_started_at IS NULL
  RETURNING provider_token`;

const WITHDRAW_SUBMISSION = `
  UPDATE media_job SET version = version + 1, submit_started_at = NULL, ${nextRunIn('$3')}, ${RELEASED}
   WHERE ${OWNED} AND ${UNSENT}
  RETURNING version`;

/** A job that was given up in the meantime keeps its end and gets the handle, so that its provider can be told. */
const STORE_HANDLE = `
  UPDATE media_job
     SET version = version + 1, provider_handle = $3::jsonb, ${nextRunIn('$4')}, ${RELEASED},
         status = CASE WHEN completed_at IS NULL THEN 'submitted' ELSE status END,
         started_at = CASE WHEN completed_at IS NULL THEN COALESCE(started_at, now()) ELSE started_at END,
         cancel_due_at = CASE WHEN completed_at IS NOT NULL THEN now() END
   WHERE ${OWNED} AND submit_started_at IS NOT NULL
     AND (${UNSENT} OR (completed_at IS NOT NULL AND provider_handle IS NULL))
  RETURNING version, completed_at IS NULL AS is_under_way`;

const RECORD_POLL = `
  UPDATE media_job
     SET version = version + 1, polls = polls + 1, ${nextRunIn('$3')}, ${RELEASED}, setbacks = 0, setback_since = NULL,
         status = CASE WHEN $4 THEN 'running' ELSE status END,
         progress = GREATEST(progress, $5::smallint)
   WHERE ${OWNED} AND status IN ('submitted', 'running')
  RETURNING version`;

const BEGIN_FINALIZING = `
  UPDATE media_job SET version = version + 1, status = 'running', finalizing_at = COALESCE(finalizing_at, now())
   WHERE ${OWNED} AND status IN ('submitted', 'running')
  RETURNING version`;

/** Where a job is about to be submitted. */
export interface SubmissionTarget {
  readonly provider: string;
  readonly deploymentId: string;
  readonly priceVersionId: string;
  readonly mode: JobAdapter['mode'];
}

/** What a poll has brought. */
export interface PollFindings {
  readonly isRunning: boolean;
  /** Percent; `null`: the provider does not say. */
  readonly progress: number | null;
}

/**
 * The steps of a worker through its job. Each answers what the next one needs, or `null`: the job has ended or belongs
 * to another worker, and nothing was changed. Steps that end the worker's turn give the lease back and answer with the
 * wake-up for the next turn.
 */
@Injectable()
export class JobWorkRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes the job for `leaseSeconds`, if this is the wake-up that it waits for and nobody else is at work. */
  async claim({ id, version }: JobWakeUp, owner: string, leaseSeconds = LEASE_SECONDS): Promise<MediaJob | null> {
    const [row] = await this.change<MediaJobRow>(CLAIM, [id, version, owner, leaseSeconds]);
    return row === undefined ? null : toMediaJob(row);
  }

  /** `false`: the job is lost, and the worker should stop. */
  async renewLease({ id, fence }: JobClaim, leaseSeconds = LEASE_SECONDS): Promise<boolean> {
    return (await this.change(RENEW, [id, fence, leaseSeconds])).length > 0;
  }

  /** Ends the turn with nothing learned: a poll without an answer is no verdict. */
  reschedule({ id, fence }: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endTurn(id, RESCHEDULE, [id, fence, nextRunInMs]);
  }

  /**
   * Ends a turn in which the provider did not know the job any more, or did not have the result that it had told of.
   * Counted until a poll is answered: either may pass, and if it happens for long enough it is the truth.
   */
  recordSetback({ id, fence }: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endTurn(id, RECORD_SETBACK, [id, fence, nextRunInMs]);
  }

  /**
   * To be committed before the provider is called: from then on the job may have been accepted. Answers the token. A
   * provider that is waited for has the job at once; another one when its handle is stored.
   */
  async beginSubmission({ id, fence }: JobClaim, target: SubmissionTarget): Promise<string | null> {
    const { provider, deploymentId, priceVersionId, mode } = target;
    const [row] = await this.change<{ provider_token: string }>(BEGIN_SUBMISSION, [
      id,
      fence,
      provider,
      deploymentId,
      priceVersionId,
      mode === 'sync',
    ]);
    return row?.provider_token ?? null;
  }

  /** Ends the turn of a submission that the provider surely did not accept: another one may be made. */
  withdrawSubmission({ id, fence }: JobClaim, nextRunInMs: number): Promise<JobWakeUp | null> {
    return this.endTurn(id, WITHDRAW_SUBMISSION, [id, fence, nextRunInMs]);
  }

  /**
   * The provider has accepted the job: ends the turn, before anything is asked about it. Where the job was given up in
   * the meantime the answer is `null`, and its provider will be told (`MediaJobRepository.claimCancellations`).
   */
  async storeHandle({ id, fence }: JobClaim, handle: JobHandle, nextRunInMs: number): Promise<JobWakeUp | null> {
    const values = [id, fence, JSON.stringify(handle), nextRunInMs];
    const [row] = await this.change<{ version: number; is_under_way: boolean }>(STORE_HANDLE, values);
    return row?.is_under_way === true ? { id, version: row.version } : null;
  }

  /** Ends the turn with what the provider said. Progress only grows, and a job that runs does not wait again. */
  recordPoll(
    { id, fence }: JobClaim,
    { isRunning, progress }: PollFindings,
    nextRunInMs: number,
  ): Promise<JobWakeUp | null> {
    return this.endTurn(id, RECORD_POLL, [id, fence, nextRunInMs, isRunning, toPercent(progress)]);
  }

  /**
   * The provider has finished and will bill: for 60 seconds from the first time the job cannot be canceled. To be repeated
   * with each try.
   */
  async beginFinalizing({ id, fence }: JobClaim): Promise<boolean> {
    return (await this.change(BEGIN_FINALIZING, [id, fence])).length > 0;
  }

  private async endTurn(id: string, text: string, values: unknown[]): Promise<JobWakeUp | null> {
    const [row] = await this.change<{ version: number }>(text, values);
    return row === undefined ? null : { id, version: row.version };
  }

  /** TypeORM answers a statement that writes with its rows and their number. */
  private async change<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const [rows] = await this.dataSource.query<[Row[], number]>(text, values);
    return rows;
  }
}

/** Providers say all kinds of things. 100 is for the end: the provider's last percent is not the gateway's. */
function toPercent(progress: number | null): number | null {
  if (progress === null || Number.isNaN(progress)) return null;
  return Math.floor(Math.min(99, Math.max(0, progress)));
}
