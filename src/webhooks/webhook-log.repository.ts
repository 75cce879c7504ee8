import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { lockUntilCommit } from '../core/database/transaction-lock';
import { decodeCursor } from '../core/types/cursor';
import { type PageRequest, textOfTime } from '../core/types/page';
import { type AttemptError, type DeliveryState, TEST_EVENT, type WebhookEvent } from './webhook.types';

/** A delivery as shown to its organization. */
export interface WebhookDelivery {
  readonly id: string;
  readonly organizationId: string;
  /** `null` for a test. */
  readonly jobId: string | null;
  readonly event: WebhookEvent;
  readonly url: string;
  readonly state: DeliveryState;
  /** Number of attempts started. */
  readonly attempts: number;
  /** Time of the next attempt; `null` when there is none. */
  readonly nextAttemptAt: Date | null;
  readonly lastStatus: number | null;
  readonly lastError: AttemptError | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

/** One attempt and its outcome. An attempt whose process died has no row. */
export interface WebhookAttempt {
  /** From 1, across all rounds. */
  readonly number: number;
  readonly startedAt: Date;
  readonly status: number | null;
  readonly error: AttemptError | null;
  readonly durationMs: number;
}

export interface DeliveryWithAttempts extends WebhookDelivery {
  readonly log: readonly WebhookAttempt[];
}

/** An absent member does not filter. */
export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly jobId?: string;
  readonly event?: WebhookEvent;
  /** Created at this time or later. */
  readonly from?: Date;
  /** Created before this time. */
  readonly to?: Date;
}

/** `created_at` at full precision: with the id, it forms the cursor. */
export interface ListedDelivery extends WebhookDelivery {
  readonly createdAtText: string;
}

/** A delivery locked for redelivery. */
export interface LockedDelivery extends WebhookDelivery {
  /** Whether the delivery's job was deleted. */
  readonly isOrphaned: boolean;
}

export interface NewTestDelivery {
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  readonly targetHost: string;
}

interface DeliveryRow {
  readonly id: string;
  readonly organization_id: string;
  readonly job_id: string | null;
  readonly event: WebhookEvent;
  readonly url: string;
  readonly state: DeliveryState;
  readonly attempt: number;
  readonly next_at: Date;
  readonly last_status: number | null;
  readonly last_error: AttemptError | null;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

const COLUMNS = `w.id, w.organization_id, w.job_id, w.event, w.url, w.state, w.attempt, w.next_at, w.last_status,
                 w.last_error, w.created_at, w.ended_at`;

/** Over `webhook_delivery_organization_index`. */
const LIST = `
  SELECT ${COLUMNS}, ${textOfTime('w.created_at')} AS created_at_text
    FROM webhook_delivery w
   WHERE w.organization_id = $1
     AND ($2::text IS NULL OR w.state = $2) AND ($3::uuid IS NULL OR w.job_id = $3) AND ($4::text IS NULL OR w.event = $4)
     AND ($5::timestamptz IS NULL OR w.created_at >= $5) AND ($6::timestamptz IS NULL OR w.created_at < $6)
     AND ($7::timestamptz IS NULL OR (w.created_at, w.id) < ($7, $8::uuid))
   ORDER BY w.created_at DESC, w.id DESC LIMIT $9`;
const FIND = `SELECT ${COLUMNS} FROM webhook_delivery w WHERE w.organization_id = $1 AND w.id = $2`;
const FIND_OF_JOB = `
  SELECT ${COLUMNS} FROM webhook_delivery w WHERE w.organization_id = $1 AND w.job_id = $2 ORDER BY w.created_at DESC`;
const ATTEMPTS = `
  SELECT a.number, a.started_at AS "startedAt", a.status, a.error, a.duration_ms AS "durationMs"
    FROM webhook_attempt a WHERE a.organization_id = $1 AND a.delivery_id = $2 ORDER BY a.number`;

const LOCK = `
  SELECT ${COLUMNS}, w.event <> '${TEST_EVENT}' AND (j.id IS NULL OR j.deleted_at IS NOT NULL) AS is_orphaned
    FROM webhook_delivery w LEFT JOIN media_job j ON j.organization_id = w.organization_id AND j.id = w.job_id
   WHERE w.organization_id = $1 AND w.id = $2 FOR UPDATE OF w`;
/**
 * Makes a pending delivery due now, and restarts the schedule of one that has ended. During an attempt, a `next_at`
 * after the claim means that a new round begins if the attempt fails.
 */
const SEND_AGAIN = `
  UPDATE webhook_delivery w
     SET state = 'pending', ended_at = NULL,
         next_at = CASE WHEN w.lease_until > clock_timestamp() THEN clock_timestamp()
                        ELSE LEAST(w.next_at, clock_timestamp()) END,
         prior_attempts = CASE w.state WHEN 'pending' THEN w.prior_attempts ELSE w.attempt END
   WHERE w.organization_id = $1 AND w.id = $2 RETURNING ${COLUMNS}`;

const INSERT_TEST = `
  INSERT INTO webhook_delivery AS w (id, organization_id, event, url, target_host, next_at, created_at)
  VALUES ($1, $2, '${TEST_EVENT}', $3, $4, clock_timestamp(), clock_timestamp()) RETURNING ${COLUMNS}`;
/** Over `webhook_delivery_organization_index`: the time at which a full window frees a slot. */
const FULL_FOR = `
  SELECT extract(epoch FROM w.created_at + make_interval(secs => $2) - clock_timestamp())::float8 AS seconds
    FROM webhook_delivery w
   WHERE w.organization_id = $1 AND w.event = '${TEST_EVENT}'
     AND w.created_at > clock_timestamp() - make_interval(secs => $2)
   ORDER BY w.created_at DESC OFFSET $3 LIMIT 1`;

/** The delivery log of an organization. */
@Injectable()
export class WebhookLogRepository {
  constructor(private readonly dataSource: DataSource) {}

  transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    return this.dataSource.transaction(work);
  }

  /**
   * Newest first, with one row more than `limit` when there is another page. @throws GatewayError for an invalid cursor
   */
  async list(
    organizationId: string,
    { state, jobId, event, from, to }: DeliveryFilter,
    { limit, cursor }: PageRequest,
  ): Promise<ListedDelivery[]> {
    const filters = [state, jobId, event, from, to].map((value) => value ?? null);
    const after = cursor === null ? [null, null] : decodeCursor(cursor, ['time', 'uuid']);
    const values = [organizationId, ...filters, ...after, limit + 1];
    const rows = await this.dataSource.query<(DeliveryRow & { readonly created_at_text: string })[]>(LIST, values);
    return rows.map((row) => ({ ...toDelivery(row), createdAtText: row.created_at_text }));
  }

  /** A consistent snapshot of a delivery and its attempts, in order. */
  find(id: string, organizationId: string): Promise<DeliveryWithAttempts | null> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const [row] = await manager.query<DeliveryRow[]>(FIND, [organizationId, id]);
      if (row === undefined) return null;
      return { ...toDelivery(row), log: await manager.query<WebhookAttempt[]>(ATTEMPTS, [organizationId, id]) };
    });
  }

  async findOfJob(jobId: string, organizationId: string): Promise<WebhookDelivery[]> {
    return (await this.dataSource.query<DeliveryRow[]>(FIND_OF_JOB, [organizationId, jobId])).map(toDelivery);
  }

  async lock(manager: EntityManager, id: string, organizationId: string): Promise<LockedDelivery | null> {
    const [row] = await manager.query<(DeliveryRow & { is_orphaned: boolean })[]>(LOCK, [organizationId, id]);
    return row === undefined ? null : { ...toDelivery(row), isOrphaned: row.is_orphaned };
  }

  /** Call with the delivery locked. */
  async sendAgain(manager: EntityManager, { organizationId, id }: LockedDelivery): Promise<WebhookDelivery> {
    const [rows] = await manager.query<[DeliveryRow[], number]>(SEND_AGAIN, [organizationId, id]);
    return toDelivery(rows[0] as DeliveryRow);
  }

  /**
   * Seconds until the organization may send another test; 0 for now. Locks the organization's tests until the
   * transaction ends.
   * @param atMost maximum tests within `windowSeconds`
   */
  async waitForTest(
    manager: EntityManager,
    organizationId: string,
    windowSeconds: number,
    atMost: number,
  ): Promise<number> {
    // Concurrent requests count each other.
    await lockUntilCommit(manager, `webhook tests ${organizationId}`);
    const values = [organizationId, windowSeconds, atMost - 1];
    const [row] = await manager.query<{ seconds: number }[]>(FULL_FOR, values);
    return row?.seconds ?? 0;
  }

  async addTest(manager: EntityManager, test: NewTestDelivery): Promise<WebhookDelivery> {
    const values = [test.id, test.organizationId, test.url, test.targetHost];
    const [row] = await manager.query<DeliveryRow[]>(INSERT_TEST, values);
    return toDelivery(row as DeliveryRow);
  }
}

function toDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    organizationId: row.organization_id,
    jobId: row.job_id,
    event: row.event,
    url: row.url,
    state: row.state,
    attempts: row.attempt,
    nextAttemptAt: row.state === 'pending' ? row.next_at : null,
    lastStatus: row.last_status,
    lastError: row.last_error,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
