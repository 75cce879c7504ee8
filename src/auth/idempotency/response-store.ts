import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { driverErrorOf, hasSqlState, isPermanentDatabaseError } from '../../core/database/driver-error';

/** Storage limits for replays. */
export interface IdempotencyOptions {
  /** Largest response that is stored. */
  readonly maxResponseBytes: number;
  /** Total stored per organization. */
  readonly maxOrganizationBytes: number;
  /** Total recorded from streams in flight in this process. */
  readonly maxRecordingBytes: number;
}

export const IDEMPOTENCY_OPTIONS = Symbol('IdempotencyOptions');

const MEBIBYTE = 1_048_576;

export const DEFAULT_IDEMPOTENCY_OPTIONS: IdempotencyOptions = {
  maxResponseBytes: 32 * MEBIBYTE,
  maxOrganizationBytes: 1_024 * MEBIBYTE,
  maxRecordingBytes: 256 * MEBIBYTE,
};

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 500;

const UNIQUE_VIOLATION = '23505';

/** One statement: it reserves space in the organization's counter, or stores nothing. */
const STORE = `
  WITH room AS (
    INSERT INTO idempotency_storage AS s (organization_id, stored_bytes)
      SELECT $2::uuid, $5::bigint WHERE $5::bigint <= $6::bigint
    ON CONFLICT (organization_id) DO UPDATE SET stored_bytes = s.stored_bytes + excluded.stored_bytes
      WHERE s.stored_bytes + excluded.stored_bytes <= $6::bigint
    RETURNING s.organization_id
  )
  INSERT INTO idempotency_body (reservation_id, organization_id, head, tail, bytes)
    SELECT $1::uuid, organization_id, $3::bytea, $4::bytea, $5::bigint FROM room
  RETURNING reservation_id`;

/** Text or bytes of a response, or its chunks. */
export type ResponseBytes = string | Buffer | readonly Buffer[];

/**
 * Stores response bodies for replays. A body is written before the charge and becomes valid when the charge commits.
 */
@Injectable()
export class ResponseStore {
  private readonly logger = new Logger(ResponseStore.name);
  private readonly budget: RecordingBudget;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(IDEMPOTENCY_OPTIONS) private readonly options: IdempotencyOptions,
  ) {
    this.budget = { bytes: 0, maxBytes: options.maxRecordingBytes };
  }

  /** A recording of a streamed response, which stops at the storage limit. */
  beginRecording(): ResponseRecording {
    return new ResponseRecording(this.options.maxResponseBytes, this.budget);
  }

  /**
   * Stores the response of a request, with a gap for its charge between `head` and `tail`; without a `tail` there is no
   * gap. Waits while the database is unavailable, because the charge needs the same database. Returns `false` when the
   * response is too long, the organization has no space left, or the database refuses it permanently.
   * @throws the reason of `signal` when it aborts
   */
  async keep(
    reservationId: string,
    organizationId: string,
    head: ResponseBytes,
    tail: string | null,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const bytes = byteLength(head) + (tail === null ? 0 : Buffer.byteLength(tail));
    const { maxResponseBytes, maxOrganizationBytes } = this.options;
    if (bytes > maxResponseBytes) return false;
    const values = [
      reservationId,
      organizationId,
      toBuffer(head),
      tail === null ? null : toBuffer(tail),
      bytes,
      maxOrganizationBytes,
    ];
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.dataSource.query<object[]>(STORE, values)).length > 0;
      } catch (error) {
        // The statement was committed and only its response was lost.
        if (hasSqlState(error, UNIQUE_VIOLATION)) return true;
        if (isPermanentDatabaseError(driverErrorOf(error))) {
          // The error object holds the response among its parameters.
          this.logger.error({ event: 'answer_not_stored', message: String(error), reservation_id: reservationId });
          return false;
        }
        if (attempt === 1) {
          this.logger.warn({ event: 'answer_storing_delayed', message: String(error), reservation_id: reservationId });
        }
        await delay(Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS), undefined, { signal });
      }
    }
  }
}

function byteLength(answer: ResponseBytes): number {
  if (typeof answer === 'string' || Buffer.isBuffer(answer)) return Buffer.byteLength(answer);
  return answer.reduce((sum, { length }) => sum + length, 0);
}

function toBuffer(answer: ResponseBytes): Buffer {
  if (typeof answer === 'string') return Buffer.from(answer);
  return Buffer.isBuffer(answer) ? answer : Buffer.concat(answer);
}

/** Bytes recorded in this process: one counter for all recordings. */
export interface RecordingBudget {
  bytes: number;
  readonly maxBytes: number;
}

/** Collects the bytes of one streamed response, up to the storage limit. */
export class ResponseRecording {
  private chunks: Buffer[] = [];
  private bytes = 0;
  private hasOverflowed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly budget: RecordingBudget,
  ) {}

  /** Whether the response can no longer be stored. */
  get overflowed(): boolean {
    return this.hasOverflowed;
  }

  add(frames: string | Buffer): void {
    if (this.hasOverflowed) return;
    const chunk = typeof frames === 'string' ? Buffer.from(frames) : frames;
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    this.budget.bytes += chunk.length;
    if (this.bytes <= this.maxBytes && this.budget.bytes <= this.budget.maxBytes) return;
    this.hasOverflowed = true;
    this.discard();
  }

  /** The recording in one buffer (`null`: too long). It counts against the budget until `release` is called once. */
  take(): { readonly whole: Buffer | null; readonly release: () => void } {
    const whole = this.hasOverflowed ? null : Buffer.concat(this.chunks);
    const { bytes, budget } = this;
    this.bytes = 0;
    this.chunks = [];
    return { whole, release: () => void (budget.bytes -= bytes) };
  }

  /** Drops recorded bytes that were not taken. Idempotent. */
  discard(): void {
    this.budget.bytes -= this.bytes;
    this.bytes = 0;
    this.chunks = [];
  }
}
