import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { KeyClaimedError, type StoreAnswer } from '../billing/ledger/money.types';
import { GatewayError } from '../core/errors/gateway-error';
import type { IdempotencyClaim, IdempotencyCompletion } from '../core/types/idempotency';
import { MultipartForm } from '../core/types/multipart-form';
import type { AnswerRecording } from '../auth/idempotency/answer-recording';
import { type AnswerBytes, AnswerStore } from '../auth/idempotency/answer-store';
import { fingerprintForm, fingerprintJson } from '../auth/idempotency/fingerprint';
import { IdempotencyService, type StoredAnswer } from '../auth/idempotency/idempotency.service';
import type { InferenceInput, RenderedAnswer } from './inference.types';
import { Meter } from './meter';
import { MeteringService } from './metering.service';
import { ProviderError } from '../providers/contract/provider-error';
import { sendPieces } from './send-pieces';

/** A stored response as it is replayed. A long one comes in pieces. */
export type ReplayedResponse = Omit<StoredAnswer, 'body'> & { readonly body: Buffer | readonly Buffer[] };

/** Attempts to claim a contended key before the client has to retry later. */
const MAX_CLAIMS = 3;

/**
 * Idempotency for every synchronous endpoint: a request with a key either opens a meter that owns the key, or receives
 * the stored response of the request that owned it. Requests without a key pass through at no cost.
 */
@Injectable()
export class KeyedAnswers {
  constructor(
    private readonly metering: MeteringService,
    private readonly idempotency: IdempotencyService,
    private readonly store: AnswerStore,
  ) {}

  /**
   * Admits the request, or returns its stored response, which needs no provider, rate limit or hold.
   * @throws GatewayError `idempotency_conflict`; the codes of {@link MeteringService.open}
   */
  open(input: InferenceInput): Promise<Meter | StoredAnswer> {
    const claim = claimOf(input);
    return claim === null ? this.metering.open(input, null) : this.openClaimed(input, claim);
  }

  /** Starts recording a streamed response under a key; `null` without a key. */
  beginRecording(input: InferenceInput): AnswerRecording | null {
    return input.context.idempotencyKey === null ? null : this.store.beginRecording();
  }

  /**
   * Returns the callback that stores the response with its charge; `null` without a key. `head` is `null` for a response
   * that was too long to record.
   */
  storing(
    { input, servedModel }: Meter,
    { contentType, head, tail }: Omit<RenderedAnswer, 'head'> & { readonly head: AnswerBytes | null },
    headers: Readonly<Record<string, string>> = {},
  ): StoreAnswer | null {
    const { context, principal } = input;
    if (context.idempotencyKey === null) return null;
    const answer = { status: 200, contentType, headers: { 'x-llm-model': servedModel.id, ...headers } };
    return async (signal) => ({
      ...answer,
      bodyStored: head !== null && (await this.store.keep(context.id, principal.organizationId, head, tail, signal)),
    });
  }

  /** Records the duration of a request, with or without a key, to estimate `Retry-After` for later duplicates. */
  noteAnswer({ input, elapsedMs }: Meter): void {
    this.idempotency.noteAnswer(input.operation, elapsedMs);
  }

  /** Sends a stored response under the id of the new request; nothing is charged or counted. */
  replay({ status, headers, body }: ReplayedResponse, reply: FastifyReply, { context }: InferenceInput): void {
    reply.header('idempotent-replayed', 'true');
    if (status >= 500) throw unknownOutcome();
    reply.code(status).headers({ ...headers, 'x-request-id': context.requestId });
    if (Buffer.isBuffer(body)) reply.send(body);
    else sendPieces(reply, body);
  }

  private async openClaimed(input: InferenceInput, claim: IdempotencyClaim): Promise<Meter | StoredAnswer> {
    const { organizationId } = input.principal;
    let stored = await this.idempotency.lookUp(organizationId, claim);
    for (let attempt = 1; stored === null; attempt++) {
      try {
        return await this.metering.open(input, claim);
      } catch (error) {
        if (!(error instanceof KeyClaimedError)) throw error;
        if (attempt === MAX_CLAIMS) throw this.idempotency.inProgress(claim.operation);
        // A concurrent duplicate claimed the key first. By now it may have completed, or failed and freed the key.
        stored = await this.idempotency.lookUp(organizationId, claim, true);
      }
    }
    return stored;
  }
}

/** Stored under the key of at-most-once work whose outcome is unknown. */
export const UNKNOWN_OUTCOME: IdempotencyCompletion = {
  status: 500,
  contentType: 'application/json; charset=utf-8',
  headers: {},
  bodyStored: false,
};

/** Whether a failed request with a key may have taken effect and must not run twice. */
export function isOutcomeUnknown({ atMostOnce, context }: InferenceInput, error: unknown): boolean {
  if (atMostOnce !== true || context.idempotencyKey === null) return false;
  return error instanceof ProviderError && error.options.outcomeUnknown === true;
}

export function unknownOutcome(cause?: unknown): GatewayError {
  const message =
    'The request with this Idempotency-Key was interrupted, and its outcome is unknown. ' +
    'It was not charged and will not run again.';
  return new GatewayError('internal_error', message, {
    details: { reason: 'outcome_unknown' },
    shouldRetry: false,
    cause,
  });
}

function claimOf({ operation, context, body, atMostOnce = false }: InferenceInput): IdempotencyClaim | null {
  const key = context.idempotencyKey;
  if (key === null) return null;
  const form = body instanceof MultipartForm;
  const fingerprint = form ? fingerprintForm(operation, body) : fingerprintJson(operation, body);
  return { operation, key, fingerprint, atMostOnce };
}
