import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { isPermanentDatabaseError } from '../database/driver-error';
import { readRefusal, recordValues } from '../billing/money-statements';
import type { UsageRecord } from '../billing/usage-record';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { MONEY_POOL } from '../database/money-pool';
import { AccountTurns } from '../common/account-turns';
import { type MediaJobRow, toMediaJob } from './media-job.row';
import { statesBefore } from './media-job.states';
import type { JobEnding, JobSubmission, MediaJob, SubmissionAnswer } from './media-job.types';
import { submissionHeaders, writeSubmission } from './submission-answer';

const SUBMIT = `
  SELECT answer, body, headers FROM media_job_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                                     $17, $18, $19)`;
const FINISH = 'SELECT * FROM media_job_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';

interface SubmitRow {
  /** Of `media_job_submit`: A accepted, R replayed, F another body; else a refusal of `money_reserve`. */
  readonly answer: string;
  readonly body: Buffer | null;
  readonly headers: Record<string, string> | null;
}

/** What the caller believes of the job: where it is not so any more, nothing happens. */
export interface EndGuard {
  /** A worker's: nobody has taken the job over. */
  readonly fence?: number;
  /** Of whoever has looked at the job to decide: nothing has changed since. */
  readonly version?: number;
}

/** The two moments of a job that move money, each in one transaction with all that hangs on it (migrations). */
@Injectable()
export class JobMoneyRepository {
  private readonly turns: AccountTurns;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.turns = new AccountTurns(clock);
  }

  /**
   * Accepts a job: its key, its hold and its row, or none of them. May be repeated: the same key and body get the same
   * answer, and nothing is held twice.
   * @throws GatewayError `idempotency_conflict` (another body), the codes of 402, `service_unavailable` without an answer
   * of the database: then a repetition tells whether the job was accepted
   */
  async submit(submission: JobSubmission): Promise<SubmissionAnswer> {
    const [row] = await this.run<SubmitRow>(submission, SUBMIT, submitValues(submission));
    if (row?.answer === 'F') {
      throw new GatewayError('idempotency_conflict', 'This Idempotency-Key was used for a request with another body.');
    }
    if (row?.answer !== 'A' && row?.answer !== 'R') throw readRefusal(row?.answer);
    if (row.body === null) throw new GatewayError('internal_error', 'The answer to this submission is gone.');
    return {
      isReplayed: row.answer === 'R',
      status: 202,
      headers: { ...row.headers, 'content-type': 'application/json; charset=utf-8' },
      body: row.body,
    };
  }

  /**
   * Ends a job with its hold, its artifacts, its receipt and what has to be told of it. Returns the job as it is then;
   * `null`, and nothing has happened: it has ended otherwise, or the guard does not hold, or it cannot end so at the
   * moment (`media_job_finish`). May be repeated when the answer was lost: then look at the job.
   * @throws GatewayError `service_unavailable` without an answer of the database
   */
  async finish(id: string, ending: JobEnding, record: UsageRecord, guard: EndGuard = {}): Promise<MediaJob | null> {
    const error = ending.status === 'failed' ? ending.error : null;
    const { costMicro, artifacts } = ending.status === 'succeeded' ? ending : { costMicro: 0n, artifacts: [] };
    const [row] = await this.run<MediaJobRow>(record, FINISH, [
      id,
      ending.status,
      statesBefore(ending.status),
      guard.fence ?? null,
      guard.version ?? null,
      costMicro.toString(),
      error?.code ?? null,
      error?.message ?? null,
      JSON.stringify(artifacts),
      recordValues(record),
    ]);
    return row === undefined ? null : toMediaJob(row);
  }

  /** Waiting for a row for too long is no different from a database that is away: both pass. */
  private async run<Row extends object>(
    { organizationId }: Pick<MediaJob, 'organizationId'>,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    try {
      return (await this.turns.run(organizationId, () => this.pool.query<Row>(text, values))).rows;
    } catch (error) {
      if (error instanceof GatewayError || isPermanentDatabaseError(error)) throw error;
      throw new GatewayError('service_unavailable', 'Jobs cannot be accepted or ended at the moment.', {
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
  ];
}
