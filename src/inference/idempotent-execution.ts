import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { fingerprintForm, fingerprintJson } from '../auth/idempotency/fingerprint';
import { IdempotencyService, type StoredResponse } from '../auth/idempotency/idempotency.service';
import { type ResponseBytes, type ResponseRecording, ResponseStore } from '../auth/idempotency/response-store';
import { KeyClaimedError, type StoreAnswer } from '../billing/ledger/money.types';
import type { IdempotencyClaim } from '../core/types/idempotency';
import { MultipartForm } from '../core/types/multipart-form';
import type { ClientConnection } from '../core/types/request-context';
import { inStep, type StepFacts } from '../core/types/trace';
import { ProviderError } from '../providers/contract/provider-error';
import type { InferenceInput, RenderedAnswer } from './inference.types';
import { outcomeOf, RequestMetrics } from './request-metrics';
import { RequestAdmission, type RequestReservation } from './request-reservation';

/** The look-up of an idempotency key. */
export const KEY_FACTS: StepFacts<StoredResponse | null> = {
  done: (stored) =>
    stored === null
      ? { 'gateway.idempotency': 'claimed' }
      : { 'gateway.idempotency': 'replayed', 'gateway.bytes': stored.body.length },
};

/** Attempts to claim a contended key before the client has to retry later. */
const MAX_CLAIMS = 3;

/**
 * Idempotency for every synchronous endpoint: a request with a key gets either a reservation that owns the key, or the
 * stored response of the request that owned the key. Requests without a key pass through at no cost.
 */
@Injectable()
export class IdempotentExecution {
  constructor(
    private readonly admission: RequestAdmission,
    private readonly idempotency: IdempotencyService,
    private readonly store: ResponseStore,
    private readonly metrics: RequestMetrics,
  ) {}

  /**
   * Admits the request, or returns its stored response, which needs no provider, rate limit or hold.
   * @throws GatewayError `idempotency_conflict`; `service_unavailable` while the
   *   organization's responses take too much memory; the codes of {@link RequestAdmission.admit}
   */
  admitOrReplay(input: InferenceInput): Promise<RequestReservation | StoredResponse> {
    const claim = claimOf(input);
    return claim === null ? this.admission.admit(input, null) : this.admitClaimed(input, claim);
  }

  /** Starts recording a streamed response under a key; `null` without a key. */
  beginRecording(input: InferenceInput): ResponseRecording | null {
    return input.context.idempotencyKey === null ? null : this.store.beginRecording();
  }

  /**
   * Returns the callback that stores the response with its charge; `null` without a key. `head` is `null` for a
   * response that was too long to record.
   */
  storeCallback(
    { input, servedModel }: RequestReservation,
    { contentType, head, tail }: Omit<RenderedAnswer, 'head'> & { readonly head: ResponseBytes | null },
    headers: Readonly<Record<string, string>> = {},
  ): StoreAnswer | null {
    const { context, principal } = input;
    if (context.idempotencyKey === null) return null;
    const answer = { status: 200, contentType, headers: { 'x-llm-model': servedModel.id, ...headers } };
    return async (signal) => ({
      ...answer,
      bodyStored:
        head !== null &&
        (await inStep(context.trace, 'store response', () =>
          this.store.keep(context.id, principal.organizationId, head, tail, signal),
        )),
    });
  }

  /** Records the duration of a request, with or without a key, to estimate `Retry-After` for later duplicates. */
  noteDuration({ input, elapsedMs }: RequestReservation): void {
    this.idempotency.noteAnswer(input.operation, elapsedMs);
  }

  private async admitClaimed(
    input: InferenceInput,
    claim: IdempotencyClaim,
  ): Promise<RequestReservation | StoredResponse> {
    const { organizationId } = input.principal;
    const { context } = input;
    const lookUp = (claimLost: boolean) =>
      inStep(
        context.trace,
        'idempotency',
        () => this.idempotency.lookUp(organizationId, claim, context, claimLost),
        KEY_FACTS,
      );
    let stored = await lookUp(false);
    for (let attempt = 1; stored === null; attempt++) {
      try {
        return await this.admission.admit(input, claim);
      } catch (error) {
        if (!(error instanceof KeyClaimedError)) throw error;
        if (attempt === MAX_CLAIMS) throw this.idempotency.inProgress(claim.operation);
        // A concurrent duplicate claimed the key first. By now it may have completed, or failed and freed the key.
        stored = await lookUp(true);
      }
    }
    const code = stored.status < 400 ? null : 'internal_error';
    context.isRecorded = true;
    this.metrics.recordUncharged(input.operation, input.model.id, outcomeOf(stored.status, code), input.streamed);
    return stored;
  }
}

/** Whether a failed request with a key may have taken effect and must not run twice. */
export function isOutcomeUnknown({ atMostOnce, context }: InferenceInput, error: unknown): boolean {
  if (atMostOnce !== true || context.idempotencyKey === null) return false;
  return error instanceof ProviderError && error.options.outcomeUnknown === true;
}

function claimOf({ operation, context, body, atMostOnce = false }: InferenceInput): IdempotencyClaim | null {
  const key = context.idempotencyKey;
  if (key === null) return null;
  const form = body instanceof MultipartForm;
  const fingerprint = form ? fingerprintForm(operation, body) : fingerprintJson(operation, body);
  return { operation, key, fingerprint, atMostOnce };
}

/** How long work continues for a disconnected client that may retry with its key. */
const FINISH_WITHIN_MS = 120_000;

/** Tracks whether the client of a request is connected or may retry, so that unwanted work is aborted. */
export interface TrackedClient {
  /** Aborted when the client has disconnected and no retry is expected. */
  readonly signal: AbortSignal;
  /** Whether the client disconnected before the response was complete. */
  readonly disconnected: boolean;
  /** The response cannot be stored for a retry: a disconnect, past or future, aborts the work at once. */
  disableRetryGrace(): void;
  /** The work is done; a later disconnect aborts nothing. */
  end(): void;
}

@Injectable()
export class DisconnectTracker implements BeforeApplicationShutdown {
  private readonly awaitingRetry = new Set<ConnectedClient>();
  private stopping = false;

  /** With `mayRetry`, work continues for a grace period after a disconnect: the client can retry with its key. */
  track(connection: ClientConnection, mayRetry: boolean): TrackedClient {
    const client = new ConnectedClient(mayRetry && !this.stopping ? this.awaitingRetry : null);
    // A client that disconnected during admission has already closed its connection.
    if (connection.closed) client.disconnect();
    else connection.onDisconnect(() => client.disconnect());
    return client;
  }

  /** Connections are about to be closed: aborts and settles the work of disconnected clients. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const client of this.awaitingRetry) client.disableRetryGrace();
  }
}

class ConnectedClient implements TrackedClient {
  disconnected = false;
  private readonly controller = new AbortController();
  private deadline: NodeJS.Timeout | undefined;
  private ended = false;

  /** @param awaitingRetry set that holds this entry while its work may outlive the connection; `null`: never */
  constructor(private awaitingRetry: Set<ConnectedClient> | null) {
    awaitingRetry?.add(this);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  disconnect(): void {
    this.disconnected = true;
    if (this.ended) return;
    if (this.awaitingRetry === null) this.controller.abort();
    else this.deadline = setTimeout(() => this.disableRetryGrace(), FINISH_WITHIN_MS);
  }

  disableRetryGrace(): void {
    this.stopWaiting();
    this.awaitingRetry = null;
    if (this.disconnected) this.controller.abort();
  }

  end(): void {
    this.ended = true;
    this.stopWaiting();
  }

  private stopWaiting(): void {
    clearTimeout(this.deadline);
    this.awaitingRetry?.delete(this);
  }
}
