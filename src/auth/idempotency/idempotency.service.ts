import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { FairSlots } from '../../core/concurrency/fair-slots';
import { ResponseMemory } from '../../core/http/response-memory';
import { GatewayError } from '../../core/errors/gateway-error';
import { Metrics } from '../../core/observability/metrics/catalogue';
import type { IdempotencyClaim } from '../../core/types/idempotency';
import {
  connectionLost,
  disconnectSignalOf,
  type RequestContext,
  requireMemory,
} from '../../core/types/request-context';
import { withinDatabaseTime } from '../../core/database/in-time';

/** Number of recent samples per operation. */
const LATENCY_SAMPLES = 63;
/** With fewer samples the default applies. */
const MIN_LATENCY_SAMPLES = 5;

const FIRST_GUESS_SECONDS: Readonly<Record<string, number>> = { createImage: 5, createImageEdit: 5 };
const DEFAULT_GUESS_SECONDS = 2;
const MAX_GUESS_SECONDS = 30;

interface Latencies {
  readonly latestMs: Float64Array;
  count: number;
}

/** Tracks the latency of each operation in this process, for the `retry_after` of duplicate requests. */
export class OperationLatency {
  private readonly operations = new Map<string, Latencies>();

  record(operation: string, durationMs: number): void {
    let known = this.operations.get(operation);
    if (known === undefined) {
      known = { latestMs: new Float64Array(LATENCY_SAMPLES), count: 0 };
      this.operations.set(operation, known);
    }
    known.latestMs[known.count++ % LATENCY_SAMPLES] = durationMs;
  }

  /** The median of the recent samples in whole seconds, 1 to 30. */
  medianSeconds(operation: string): number {
    const known = this.operations.get(operation);
    if (known === undefined || known.count < MIN_LATENCY_SAMPLES)
      return FIRST_GUESS_SECONDS[operation] ?? DEFAULT_GUESS_SECONDS;
    const sorted = known.latestMs.subarray(0, Math.min(known.count, LATENCY_SAMPLES)).toSorted();
    const medianMs = sorted[sorted.length >> 1] as number;
    return Math.min(Math.max(Math.ceil(medianMs / 1000), 1), MAX_GUESS_SECONDS);
  }
}

/** What a look-up needs of the request that waits for it. */
type WaitingRequest = Pick<RequestContext, 'memory' | 'connection'>;

/** A stored response, ready to send. */
export interface StoredResponse {
  readonly status: number;
  /** Content type and the other headers that a replay repeats, with lower-case names. */
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
  /** `null`: the body is not stored. */
  readonly body_bytes: string | null;
}

interface BodyRow {
  readonly piece: Buffer;
  readonly head_bytes: number;
  readonly tail: Buffer | null;
}

/** Callers get their 503 within 2.5 s while the database is unavailable. */
const LOOK_UP_TIMEOUT_MS = 1_800;
/** Longer than a look-up: the database has just answered, and a response may have tens of megabytes. */
const READ_TIMEOUT_MS = 10_000;

/** Most keys are new, so a cheap existence check runs first: planning the full query takes longer than running it. */
const IS_KNOWN = `
  SELECT FROM idempotency_record d WHERE d.organization_id = $1 AND d.operation = $2 AND d.key = $3`;

/**
 * One probe of the primary key; for a record in progress also whether its owner is dead by the rule of `money_sweep`.
 * Time is the database's, which wrote it.
 */
const LOOK_UP = `
  SELECT d.fingerprint = decode($4, 'hex') AS is_same, d.state, d.status, d.content_type, d.headers, d.charged_micro,
         d.reservation_id, b.bytes AS body_bytes,
         d.state = 'in_progress'
           AND (r.expires_at <= clock_timestamp()
                OR COALESCE(g.heartbeat_at, r.created_at) < clock_timestamp() - interval '20 seconds') AS abandoned
    FROM idempotency_record d
    LEFT JOIN hold r ON d.state = 'in_progress' AND r.organization_id = d.organization_id AND r.id = d.reservation_id
    LEFT JOIN gateway_instance g ON g.id = r.owner
    LEFT JOIN idempotency_body b
      ON d.body_stored AND b.organization_id = d.organization_id AND b.reservation_id = d.reservation_id
   WHERE d.organization_id = $1 AND d.operation = $2 AND d.key = $3
     AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())`;

/** The driver decodes a result synchronously, at about 400 MiB/s, and blocks the event loop meanwhile. */
const PIECE_BYTES = 4 * 1_048_576;
const READ_BODY = `
  SELECT substring(head FROM $3::integer + 1 FOR ${PIECE_BYTES}) AS piece, octet_length(head) AS head_bytes, tail
    FROM idempotency_body WHERE organization_id = $1 AND reservation_id = $2`;

/** Shorter responses are not counted: even one for every request in flight takes little memory. */
const SMALL_BYTES = 65_536;
/** Longer responses read at a time, at most half of them for one organization: look-ups need connections too. */
const LONG_READS = 4;

/** Looks up idempotency keys: a retry gets the stored response, or an error that says why there is none. */
@Injectable()
export class IdempotencyService {
  private readonly logger = new Logger(IdempotencyService.name);
  private readonly latency = new OperationLatency();
  private readonly longReads = new FairSlots(LONG_READS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
    private readonly memory: ResponseMemory,
  ) {}

  /**
   * The stored response of this key; `null` when the key is free, or its owner has died and the key can be taken over.
   * @param request whose memory budget a long response counts against, and whose client gets the response
   * @param claimLost the key was just found in use: then a dead owner's key is not free either, until the sweep
   * @throws GatewayError `idempotency_conflict`: with `retry_after` while the first request runs, without when the key
   *   was used for another body or the response was not stored (`details.reason`: `response_not_stored`);
   * `service_unavailable` when the database does not answer or the organization's responses take too much memory;
   * Error when the client has disconnected before its stored response was read
   */
  async lookUp(
    organizationId: string,
    claim: IdempotencyClaim,
    request: WaitingRequest,
    claimLost = false,
  ): Promise<StoredResponse | null> {
    try {
      const stored = await this.lookUpStored(organizationId, claim, request, claimLost);
      this.metrics.idempotency.of(stored === null ? 'claimed' : 'replayed').inc();
      return stored;
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'idempotency_conflict') {
        this.metrics.idempotency.of(error.retryAfterSeconds === undefined ? 'conflict' : 'in_progress').inc();
      }
      throw error;
    }
  }

  private async lookUpStored(
    organizationId: string,
    claim: IdempotencyClaim,
    request: WaitingRequest,
    claimLost: boolean,
  ): Promise<StoredResponse | null> {
    const record = await this.find(organizationId, claim);
    if (record === undefined) return null;
    if (record.abandoned && !claimLost) return null;
    if (!record.is_same) {
      throw new GatewayError('idempotency_conflict', 'This Idempotency-Key was used for a request with another body.');
    }
    if (record.state === 'in_progress') throw this.inProgress(claim.operation);
    if (record.status >= 500) return { status: record.status, headers: record.headers, body: Buffer.alloc(0) };
    const body = await this.readWithinMemory(organizationId, record, request);
    if (body === null) throw notStored();
    return { status: record.status, headers: { ...record.headers, 'content-type': record.content_type }, body };
  }

  /** The error for a duplicate request while the original is in flight. */
  inProgress(operation: string): GatewayError {
    return new GatewayError('idempotency_conflict', 'The first request with this Idempotency-Key is still running.', {
      retryAfterSeconds: this.latency.medianSeconds(operation),
    });
  }

  /** Records the duration of a request, for the `retry_after` of later duplicates. */
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

  private readWithinMemory(
    organizationId: string,
    record: RecordRow,
    request: WaitingRequest,
  ): Promise<Buffer | null> | null {
    if (record.body_bytes === null) return null;
    const bytes = Number(record.body_bytes);
    if (bytes <= SMALL_BYTES) return this.readBody(organizationId, record, request);
    this.memory.assertRoom(organizationId);
    return this.memory.during(bytes, organizationId, requireMemory(request), () =>
      this.readLong(organizationId, record, request),
    );
  }

  private async readLong(organizationId: string, record: RecordRow, request: WaitingRequest): Promise<Buffer | null> {
    await this.longReads.enter(organizationId, disconnectSignalOf(request.connection));
    try {
      return await this.readBody(organizationId, record, request);
    } finally {
      this.longReads.leave(organizationId);
    }
  }

  /**
   * The complete response; `null`: it has just expired. Stops reading when the client disconnects: replays pass no rate
   * limit, so a client that requests and disconnects at once would keep the database busy.
   */
  private async readBody(
    organizationId: string,
    record: RecordRow,
    { connection }: WaitingRequest,
  ): Promise<Buffer | null> {
    const { reservation_id: id, charged_micro: charged } = record;
    const pieces: Buffer[] = [];
    for (let read = 0; ;) {
      if (connection.closed) throw connectionLost();
      const reading = this.dataSource.query<BodyRow[]>(READ_BODY, [organizationId, id, read]);
      const [row] = await this.answerWithin(READ_TIMEOUT_MS, reading);
      if (row === undefined) return null;
      pieces.push(row.piece);
      read += row.piece.length;
      if (read < row.head_bytes) continue;
      if (row.tail !== null) pieces.push(Buffer.from(charged), row.tail);
      const [only] = pieces;
      return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    }
  }

  private async answerWithin<Answer>(timeoutMs: number, work: Promise<Answer>): Promise<Answer> {
    try {
      return await withinDatabaseTime(timeoutMs, work);
    } catch (error) {
      this.logger.warn({
        event: 'idempotency_lookup_failed',
        message: `the idempotency lookup failed: ${String(error)}`,
      });
      // Fail closed: otherwise the request could run twice.
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
    'The request with this Idempotency-Key has completed, but its response was not stored. Use a new key to run it again.',
    { details: { reason: 'response_not_stored' } },
  );
}
