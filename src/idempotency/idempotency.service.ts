import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyClaim } from '../common/idempotency';
import { OperationLatency } from './operation-latency';
import { within } from '../database/in-time';

/** An answer that was given before, with nothing left to be filled in. */
export interface StoredAnswer {
  readonly status: number;
  /** Content type and what the contract lets a replay repeat, by names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface RecordRow {
  readonly is_same: boolean;
  readonly state: 'in_progress' | 'completed';
  readonly abandoned: boolean;
  readonly status: number;
  readonly content_type: string;
  readonly headers: Record<string, string>;
  readonly charged_micro: string;
  readonly reservation_id: string;
  readonly body_stored: boolean;
}

interface BodyRow {
  readonly piece: Buffer;
  readonly head_bytes: number;
  readonly tail: Buffer | null;
}

/** Whoever asks must know within 2.5 s that the database is away (decisions, *Dependencies away*). */
const LOOK_UP_TIMEOUT_MS = 1_800;
/** By then it is known that the database is there, and tens of megabytes take their time. */
const READ_TIMEOUT_MS = 10_000;

/** A new key, as most are, is found to be one with little work: planning the whole question takes longer than its answer. */
const IS_KNOWN = `
  SELECT FROM idempotency_record d WHERE d.organization_id = $1 AND d.operation = $2 AND d.key = $3`;

/**
 * One probe of the primary key; for a record in progress also whether its owner is dead by the rule of `money_sweep`.
 * Time is the database's, which wrote it.
 */
const LOOK_UP = `
  SELECT d.fingerprint = decode($4, 'hex') AS is_same, d.state, d.status, d.content_type, d.headers, d.charged_micro,
         d.reservation_id, d.body_stored,
         d.state = 'in_progress'
           AND (r.expires_at <= clock_timestamp()
                OR COALESCE(g.heartbeat_at, r.created_at) < clock_timestamp() - interval '20 seconds') AS abandoned
    FROM idempotency_record d
    LEFT JOIN reservation r ON d.state = 'in_progress' AND r.id = d.reservation_id
    LEFT JOIN gateway_instance g ON g.id = r.owner
   WHERE d.organization_id = $1 AND d.operation = $2 AND d.key = $3
     AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())`;

/** The driver decodes what it reads in one go, at some 400 MiB a second: nobody else gets a turn meanwhile. */
const PIECE_BYTES = 4 * 1_048_576;
const READ_BODY = `
  SELECT substring(head FROM $2::integer + 1 FOR ${PIECE_BYTES}) AS piece, octet_length(head) AS head_bytes, tail
    FROM idempotency_body WHERE reservation_id = $1`;

/** What became of a key: who asks again is given the same answer, or told why there is none. */
@Injectable()
export class IdempotencyService {
  private readonly logger = new Logger(IdempotencyService.name);
  private readonly latency = new OperationLatency();

  constructor(private readonly dataSource: DataSource) {}

  /**
   * The answer that this key was given; `null` when the key is free, or its owner has died and it can be taken over.
   * @param claimLost the key was not free a moment ago: then a dead owner's is not either, until it has been swept
   * @throws GatewayError `idempotency_conflict`: with `retry_after` while the first request runs, without when the key
   * was used for another body or the answer was not stored (`details.reason`: `response_not_stored`);
   * `service_unavailable` without an answer from the database
   */
  async lookUp(organizationId: string, claim: IdempotencyClaim, claimLost = false): Promise<StoredAnswer | null> {
    const record = await this.find(organizationId, claim);
    if (record === undefined) return null;
    if (record.abandoned && !claimLost) return null;
    if (!record.is_same) {
      throw new GatewayError('idempotency_conflict', 'This Idempotency-Key was used for a request with another body.');
    }
    if (record.state === 'in_progress') throw this.inProgress(claim.operation);
    if (record.status >= 500) return { status: record.status, headers: record.headers, body: Buffer.alloc(0) };
    const body = record.body_stored ? await this.readBody(record) : null;
    if (body === null) throw notStored();
    return { status: record.status, headers: { ...record.headers, 'content-type': record.content_type }, body };
  }

  /** What a twin is told while the first request runs. */
  inProgress(operation: string): GatewayError {
    return new GatewayError('idempotency_conflict', 'The first request with this Idempotency-Key is still running.', {
      retryAfterSeconds: this.latency.medianSeconds(operation),
    });
  }

  /** Notes how long an answer took, for the `retry_after` of twins to come. */
  noteAnswer(operation: string, durationMs: number): void {
    this.latency.record(operation, durationMs);
  }

  private find(organizationId: string, claim: IdempotencyClaim): Promise<RecordRow | undefined> {
    return this.answerWithin(LOOK_UP_TIMEOUT_MS, this.read(organizationId, claim));
  }

  private async read(
    organizationId: string,
    { operation, key, fingerprint }: IdempotencyClaim,
  ): Promise<RecordRow | undefined> {
    const known = await this.dataSource.query<object[]>(IS_KNOWN, [organizationId, operation, key]);
    if (known.length === 0) return undefined;
    const [record] = await this.dataSource.query<RecordRow[]>(LOOK_UP, [organizationId, operation, key, fingerprint]);
    return record;
  }

  /** The whole answer; `null`: its time has just ended. */
  private async readBody({ reservation_id: id, charged_micro: charged }: RecordRow): Promise<Buffer | null> {
    const pieces: Buffer[] = [];
    for (let read = 0; ;) {
      const [row] = await this.answerWithin(READ_TIMEOUT_MS, this.dataSource.query<BodyRow[]>(READ_BODY, [id, read]));
      if (row === undefined) return null;
      pieces.push(row.piece);
      read += row.piece.length;
      if (read < row.head_bytes) continue;
      if (row.tail !== null) pieces.push(Buffer.from(charged), row.tail);
      const [only] = pieces;
      return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    }
  }

  private async answerWithin<Answer>(timeoutMs: number, asked: Promise<Answer>): Promise<Answer> {
    try {
      return await within(timeoutMs, asked);
    } catch (error) {
      this.logger.warn(`An idempotency key could not be looked up: ${String(error)}`);
      // Without knowing, the request could run a second time.
      throw new GatewayError('service_unavailable', 'Idempotency keys cannot be looked up at the moment.', {
        retryAfterSeconds: 1,
        cause: error,
      });
    }
  }
}

function notStored(): GatewayError {
  return new GatewayError(
    'idempotency_conflict',
    'The request has run under this Idempotency-Key, but its answer was not kept. Use a new key to run it again.',
    { details: { reason: 'response_not_stored' } },
  );
}
