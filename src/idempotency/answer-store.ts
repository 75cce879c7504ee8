import { Inject, Injectable, Logger } from '@nestjs/common';
import { DatabaseError } from 'pg';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../common/clock';
import { driverErrorOf } from '../database/driver-error';
import { AnswerRecording, type RecordingBudget } from './answer-recording';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency-options';
import { within } from '../database/in-time';

/** A client that is about to be answered waits no longer for the copy. It outlasts a restart of the database. */
const STORE_TIMEOUT_MS = 5_000;
const RETRY_MS = 100;

const UNIQUE_VIOLATION = '23505';
/** SQLSTATE classes of what can be otherwise the next time: connection, resources, an operator's intervention. */
const PASSING_CLASSES = new Set(['08', '53', '57']);

/** One statement: room is taken in the organization's counter, or nothing is stored. */
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

/** Text or bytes of an answer, or its pieces. */
export type AnswerBytes = string | Buffer | readonly Buffer[];

/** Keeps the bytes of answers for replays. They are written before the charge is committed, which makes them count. */
@Injectable()
export class AnswerStore {
  private readonly logger = new Logger(AnswerStore.name);
  private readonly budget: RecordingBudget;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(IDEMPOTENCY_OPTIONS) private readonly options: IdempotencyOptions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.budget = { bytes: 0, maxBytes: options.maxRecordingBytes };
  }

  /** A recording of a streamed answer, which ends when more has come than may be stored. */
  beginRecording(): AnswerRecording {
    return new AnswerRecording(this.options.maxAnswerBytes, this.budget);
  }

  /**
   * Stores the answer of a request around the gap for its charge; without a `tail` there is no gap. `false`: it is too
   * long, the organization has no room left, or the database did not take it. Never throws: what a client is about to
   * get must not fail for the copy.
   */
  async keep(reservationId: string, organizationId: string, head: AnswerBytes, tail: string | null): Promise<boolean> {
    const bytes = byteLength(head) + (tail === null ? 0 : Buffer.byteLength(tail));
    const { maxAnswerBytes, maxOrganizationBytes } = this.options;
    if (bytes > maxAnswerBytes) return false;
    const values = [
      reservationId,
      organizationId,
      toBuffer(head),
      tail === null ? null : toBuffer(tail),
      bytes,
      maxOrganizationBytes,
    ];
    const deadlineMs = this.clock.monotonic() + STORE_TIMEOUT_MS;
    for (;;) {
      const remainingMs = deadlineMs - this.clock.monotonic();
      try {
        const rows = await within(remainingMs, this.dataSource.query<object[]>(STORE, values));
        return rows.length > 0;
      } catch (error) {
        const state = sqlStateOf(error);
        // The statement had been committed, only its answer was lost.
        if (state === UNIQUE_VIOLATION) return true;
        if (remainingMs <= RETRY_MS || (state !== null && !PASSING_CLASSES.has(state.slice(0, 2)))) {
          this.logger.warn(`The answer of ${reservationId} could not be stored for replays: ${String(error)}`);
          return false;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

/** `null`: no word from the server; the connection failed or took too long. */
function sqlStateOf(error: unknown): string | null {
  const cause = driverErrorOf(error);
  return cause instanceof DatabaseError ? (cause.code ?? null) : null;
}

function byteLength(answer: AnswerBytes): number {
  if (typeof answer === 'string' || Buffer.isBuffer(answer)) return Buffer.byteLength(answer);
  return answer.reduce((sum, { length }) => sum + length, 0);
}

function toBuffer(answer: AnswerBytes): Buffer {
  if (typeof answer === 'string') return Buffer.from(answer);
  return Buffer.isBuffer(answer) ? answer : Buffer.concat(answer);
}
