import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { AUDIT_COLUMNS, auditValues, type AuditRecord } from '../core/database/audit-log';
import { isPermanentDatabaseError } from '../core/database/driver-error';
import { refusalOfClosedDay } from '../billing/ledger/closed-day';
import { readRefusal, recordValues } from '../billing/ledger/money-statements';
import type { UsageRecord } from '../billing/ledger/money.types';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { hostOf } from '../core/outbound/url-rules';
import { MONEY_POOL } from '../core/database/money-pool';
import { AccountQueue } from '../core/concurrency/account-queue';
import { type MediaJobRow, toMediaJob } from './media-job.row';
import { statesBefore } from './media-job.states';
import type { JobEnding, JobSubmission, MediaJob, SubmissionAnswer } from './media-job.types';
import { submissionHeaders, writeSubmission } from './submission-answer';

const SUBMIT = `
  SELECT answer, body, headers FROM media_job_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                                     $17, $18, $19, p_trace_parent => $20, p_webhook_host => $21)`;
const FINISH = 'SELECT * FROM media_job_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)';
/** One statement, so that the end of a job and its audit log entry commit together. */
const FINISH_AUDITED = `
  WITH ended AS (${FINISH}),
       logged AS (INSERT INTO audit_entry (${AUDIT_COLUMNS})
                  SELECT $12::uuid, $13, $14::uuid, $15, $16, $17, $18, $19, $20::jsonb, $21::jsonb FROM ended)
  SELECT * FROM ended`;

interface SubmitRow {
  /** `accepted`, `replayed` or `fingerprint_mismatch`; otherwise a refusal of `money_reserve`. */
  readonly answer: string;
  readonly body: Buffer | null;
  readonly headers: Record<string, string> | null;
}

/**
 * Preconditions for ending a job, and values that are written with the end. If a precondition no longer holds, nothing
 * changes.
 */
export interface EndOptions {
  /** For a worker: no other worker has claimed the job since it was read. */
  readonly fence?: number;
  /** For a decision based on a read: the job has not changed since that read. */
  readonly version?: number;
  /** For a change by a user of the dashboard. */
  readonly audit?: AuditRecord;
}

/**
 * The two operations of a job that move money. Each is one SQL function and one transaction (`migrations/functions`).
 */
@Injectable()
export class JobMoneyRepository {
  private readonly accounts: AccountQueue;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.accounts = new AccountQueue(clock);
  }

  /**
   * Accepts a job: writes its idempotency record, hold and row, or none of them. Idempotent: the same key and body get
   * the same response, and the hold is made once.
   * @throws GatewayError `idempotency_conflict` (another body), the 402 codes, `service_unavailable` when the database
   * does not respond: retrying shows whether the job was accepted
   */
  async submit(submission: JobSubmission): Promise<SubmissionAnswer> {
    const [row] = await this.runStatement<SubmitRow>(submission, SUBMIT, submitValues(submission));
    if (row?.answer === 'fingerprint_mismatch') {
      throw new GatewayError('idempotency_conflict', 'This Idempotency-Key was used for a request with another body.');
    }
    if (row?.answer !== 'accepted' && row?.answer !== 'replayed') throw readRefusal(row?.answer);
    if (row.body === null) throw new GatewayError('internal_error', 'The stored response is missing.');
    return {
      isReplayed: row.answer === 'replayed',
      status: 202,
      headers: { ...row.headers, 'content-type': 'application/json; charset=utf-8' },
      body: row.body,
    };
  }

  /**
   * Ends a job: settles or releases its hold and writes artifacts, receipt and webhook delivery. Returns the ended job.
   * `null`: nothing changed, because the job has already ended, a precondition does not hold, or the job cannot end
   * this way now (`media_job_finish`). Safe to repeat after a lost response; read the job in that case.
   * @throws GatewayError `service_unavailable` when the database does not respond
   */
  async finish(id: string, ending: JobEnding, record: UsageRecord, options: EndOptions = {}): Promise<MediaJob | null> {
    const error = ending.status === 'failed' ? ending.error : null;
    const { costMicro, artifacts } = ending.status === 'succeeded' ? ending : { costMicro: 0n, artifacts: [] };
    const { fence, version, audit } = options;
    const values = [
      id,
      ending.status,
      statesBefore(ending.status),
      fence ?? null,
      version ?? null,
      costMicro.toString(),
      error?.code ?? null,
      error?.message ?? null,
      JSON.stringify(artifacts),
      recordValues(record),
      record.organizationId,
    ];
    const [row] = await (audit === undefined
      ? this.runStatement<MediaJobRow>(record, FINISH, values)
      : this.runStatement<MediaJobRow>(record, FINISH_AUDITED, [...values, ...auditValues(audit)]));
    return row === undefined ? null : toMediaJob(row);
  }

  /** A lock timeout is transient, like an unreachable database. */
  private async runStatement<Row extends object>(
    { organizationId }: Pick<MediaJob, 'organizationId'>,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    try {
      return (await this.accounts.runExclusive(organizationId, () => this.pool.query<Row>(text, values))).rows;
    } catch (error) {
      const refusal = refusalOfClosedDay(error);
      if (refusal !== null) throw refusal;
      if (error instanceof GatewayError || isPermanentDatabaseError(error)) throw error;
      throw new GatewayError('service_unavailable', 'Jobs are temporarily unavailable. Retry shortly.', {
        retryAfterSeconds: 1,
        cause: error,
      });
    }
  }
}

function submitValues(submission: JobSubmission): unknown[] {
  const { claim } = submission;
  const { head, tail } = writeSubmission(submission);
  return [
    submission.id,
    submission.organizationId,
    submission.keyId,
    submission.kind,
    submission.model,
    submission.holdMicro.toString(),
    submission.maxCostMicro.toString(),
    JSON.stringify(submission.params),
    JSON.stringify(submission.settings),
    submission.route,
    submission.webhookUrl,
    JSON.stringify(submission.metadata),
    submission.ttlSeconds,
    claim.operation,
    claim.key,
    claim.fingerprint,
    JSON.stringify(submissionHeaders(submission)),
    head,
    tail,
    submission.traceParent,
    submission.webhookUrl === null ? null : hostOf(new URL(submission.webhookUrl)),
  ];
}
