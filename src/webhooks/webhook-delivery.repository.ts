import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { AttemptOutcome, ClaimedDelivery, DeliveryState, DeliverySubject, NextStep } from './webhook.types';

/**
 * Longer than an attempt can take (`WebhookAttemptService`), so that two processes never post one delivery at once.
 * After a process dies, its deliveries are claimed again when the lease ends.
 */
const LEASE_SECONDS = 60;
/** Concurrent posts of all processes. One organization may use at most half of the slots of a host. */
const MAX_PER_HOST = 8;
const MAX_PER_ORGANIZATION = 16;
const RETENTION_DAYS = 30;

const CLAIM = `
  SELECT id, job_id, organization_id, event, url, attempt, attempt - prior_attempts AS attempt_of_round, lease_until
    FROM webhook_claim($1, $2, $3, $4)`;

/** A claimed delivery is due again when its lease ends. */
const FIND_DUE_IN = `
  SELECT GREATEST(0, extract(epoch FROM GREATEST(next_at, lease_until) - clock_timestamp()) * 1000)::float8 AS "inMs"
    FROM webhook_delivery WHERE organization_id = $1 AND id = $2 AND state = 'pending'`;
const FIND_PENDING_OF_JOB = `
  SELECT id FROM webhook_delivery WHERE organization_id = $1 AND job_id = $2 AND state = 'pending'`;

/** Matches only the current claim: every lease has its own end time. */
const OWNED = `organization_id = $1 AND id = $2 AND lease_until = $3 AND state = 'pending'`;

/**
 * Sending again was requested after the claim, because a claim only takes what is due. A failure then begins a new
 * round at once.
 */
const SENT_AGAIN = `$4 IN ('pending', 'exhausted')
  AND next_at > lease_until - make_interval(secs => ${LEASE_SECONDS}) + interval '1 millisecond'`;

/** Updates the delivery and appends to its log in one statement. */
const RECORD = `
  WITH recorded AS (
    UPDATE webhook_delivery
       SET state = CASE WHEN ${SENT_AGAIN} THEN 'pending' ELSE $4 END,
           next_at = CASE WHEN ${SENT_AGAIN} THEN now() ELSE now() + $5::float8 * interval '1 millisecond' END,
           prior_attempts = CASE WHEN ${SENT_AGAIN} THEN attempt ELSE prior_attempts END,
           ended_at = CASE WHEN $4 <> 'pending' AND NOT (${SENT_AGAIN}) THEN now() END,
           lease_until = NULL, last_status = $6::smallint, last_error = $7
     WHERE ${OWNED} RETURNING organization_id, id, attempt, state),
  logged AS (
    INSERT INTO webhook_attempt (organization_id, delivery_id, number, started_at, status, error, duration_ms)
    SELECT organization_id, id, attempt, now() - $8::float8 * interval '1 millisecond', $6::smallint, $7, $8::integer
      FROM recorded)
  SELECT state FROM recorded`;

const PUT_BACK = `
  UPDATE webhook_delivery
     SET attempt = attempt - 1, lease_until = NULL, next_at = now() + $4::float8 * interval '1 millisecond'
   WHERE ${OWNED}`;

const WITHDRAW = `
  UPDATE webhook_delivery SET state = 'withdrawn', attempt = attempt - 1, lease_until = NULL, ended_at = now()
   WHERE ${OWNED}`;

/** Over `webhook_delivery_created_index`; attempts are deleted with their deliveries. */
const PRUNE = `
  WITH pruned AS (
    DELETE FROM webhook_delivery WHERE (organization_id, id) IN (
      SELECT organization_id, id FROM webhook_delivery
       WHERE created_at < now() - make_interval(days => $1) AND state <> 'pending'
       ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING id)
  SELECT count(*)::integer AS count FROM pruned`;

type DeliveryKey = Pick<ClaimedDelivery, 'organizationId' | 'id'>;
type DeliveryClaim = DeliveryKey & Pick<ClaimedDelivery, 'leaseUntil'>;

interface ClaimedRow {
  readonly id: string;
  readonly job_id: string | null;
  readonly organization_id: string;
  readonly event: string;
  readonly url: string;
  readonly attempt: number;
  readonly attempt_of_round: number;
  readonly lease_until: Date;
}

/** The delivery queue of the delivering processes. Times are the database's. `media_job_finish` inserts the rows. */
@Injectable()
export class WebhookDeliveryRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes up to `limit` deliveries that are due, within the limits of hosts and organizations (`webhook_claim`). */
  async claim(limit: number): Promise<ClaimedDelivery[]> {
    const values = [limit, LEASE_SECONDS, MAX_PER_HOST, MAX_PER_ORGANIZATION];
    return (await this.dataSource.query<ClaimedRow[]>(CLAIM, values)).map((row) => ({
      // A table constraint keeps event and job id consistent.
      ...({ event: row.event, jobId: row.job_id } as DeliverySubject),
      id: row.id,
      organizationId: row.organization_id,
      url: row.url,
      attempt: row.attempt,
      attemptOfRound: row.attempt_of_round,
      leaseUntil: row.lease_until,
    }));
  }

  /** Milliseconds until the delivery may be claimed; `null`: it has ended. */
  async findDueInMs({ organizationId, id }: DeliveryKey): Promise<number | null> {
    const [row] = await this.dataSource.query<{ inMs: number }[]>(FIND_DUE_IN, [organizationId, id]);
    return row?.inMs ?? null;
  }

  async findPendingOfJob(organizationId: string, jobId: string): Promise<string | null> {
    const [row] = await this.dataSource.query<{ id: string }[]>(FIND_PENDING_OF_JOB, [organizationId, jobId]);
    return row?.id ?? null;
  }

  /** The state after the attempt. `null`: the claim is lost or the job deleted, and nothing was written. */
  async record(
    { organizationId, id, leaseUntil }: DeliveryClaim,
    { status, error }: AttemptOutcome,
    durationMs: number,
    step: NextStep,
  ): Promise<DeliveryState | null> {
    const retryInMs = step.state === 'pending' ? step.retryInMs : 0;
    const values = [organizationId, id, leaseUntil, step.state, retryInMs, status, error, Math.round(durationMs)];
    const [row] = await this.dataSource.query<{ state: DeliveryState }[]>(RECORD, values);
    return row?.state ?? null;
  }

  /** Puts the delivery back. Nothing was posted, so the attempt does not count. */
  async putBack({ organizationId, id, leaseUntil }: DeliveryClaim, retryInMs: number): Promise<void> {
    await this.dataSource.query(PUT_BACK, [organizationId, id, leaseUntil, retryInMs]);
  }

  /** Withdraws the delivery: nothing was posted, and nothing will be. */
  async withdraw({ organizationId, id, leaseUntil }: DeliveryClaim): Promise<void> {
    await this.dataSource.query(WITHDRAW, [organizationId, id, leaseUntil]);
  }

  /**
   * Deletes up to `limit` deliveries older than 30 days with their attempts, skipping locked ones. Returns how many.
   */
  async prune(limit: number): Promise<number> {
    const [row] = await this.dataSource.query<{ count: number }[]>(PRUNE, [RETENTION_DAYS, limit]);
    return row?.count ?? 0;
  }
}
