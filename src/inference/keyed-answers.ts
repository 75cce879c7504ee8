import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { KeyClaimedError } from '../billing/money.types';
import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyClaim, IdempotencyCompletion } from '../common/idempotency';
import { MultipartForm } from '../common/multipart-form';
import type { AnswerRecording } from '../idempotency/answer-recording';
import { type AnswerBytes, AnswerStore } from '../idempotency/answer-store';
import { fingerprintForm, fingerprintJson } from '../idempotency/fingerprint';
import { IdempotencyService, type StoredAnswer } from '../idempotency/idempotency.service';
import type { InferenceInput, RenderedAnswer } from './inference.types';
import { Meter } from './meter';
import { MeteringService } from './metering.service';
import { sendPieces } from './send-pieces';

/** A stored answer as it is sent again. A long one comes in pieces. */
export type RepeatedAnswer = Omit<StoredAnswer, 'body'> & { readonly body: Buffer | readonly Buffer[] };

/** A key that is lost and then free again, again and again, is under heavy fire: the client should come back later. */
const MAX_CLAIMS = 3;

/**
 * Idempotency for every endpoint that answers at once: a request with a key either opens a meter that owns the key, or
 * is given the answer of the one that did. Requests without a key pass through at no cost.
 */
@Injectable()
export class KeyedAnswers {
  constructor(
    private readonly metering: MeteringService,
    private readonly idempotency: IdempotencyService,
    private readonly store: AnswerStore,
  ) {}

  /**
   * Admits the request, or finds what was answered to it before, for which neither provider nor limits nor money count.
   * @throws GatewayError `idempotency_conflict`; the codes of {@link MeteringService.open}
   */
  open(input: InferenceInput): Promise<Meter | StoredAnswer> {
    const claim = claimOf(input);
    return claim === null ? this.metering.open(input, null) : this.openClaimed(input, claim);
  }

  /** For a streamed answer under a key, from its first byte; `null` without a key. */
  beginRecording(input: InferenceInput): AnswerRecording | null {
    return input.context.idempotencyKey === null ? null : this.store.beginRecording();
  }

  /**
   * Stores an answer that is about to be charged. Returns what its key answers once that is committed; `null` without a
   * key. `head` is `null` for an answer that was too long to be collected.
   */
  async keep(
    { input, servedModel }: Meter,
    { contentType, head, tail }: Omit<RenderedAnswer, 'head'> & { readonly head: AnswerBytes | null },
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IdempotencyCompletion | null> {
    const { context, principal } = input;
    if (context.idempotencyKey === null) return null;
    const bodyStored = head !== null && (await this.store.keep(context.id, principal.organizationId, head, tail));
    return { status: 200, contentType, headers: { 'x-llm-model': servedModel.id, ...headers }, bodyStored };
  }

  /** Notes that a request was answered, with or without a key, to tell twins of later ones when to come back. */
  noteAnswer({ input, elapsedMs }: Meter): void {
    this.idempotency.noteAnswer(input.operation, elapsedMs);
  }

  /** Sends what was answered before. It is a new request: only the id is its own, nothing is charged or counted. */
  replay({ status, headers, body }: RepeatedAnswer, reply: FastifyReply, { context }: InferenceInput): void {
    reply.header('idempotent-replayed', 'true');
    if (status >= 500) {
      throw new GatewayError(
        'internal_error',
        'The first request with this Idempotency-Key was cut off, and it is not known whether it took effect. ' +
          'It was not charged and is not run again.',
      );
    }
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
        // A twin was faster. By now it may have answered, or failed and left the key.
        stored = await this.idempotency.lookUp(organizationId, claim, true);
      }
    }
    return stored;
  }
}

function claimOf({ operation, context, body, atMostOnce = false }: InferenceInput): IdempotencyClaim | null {
  const key = context.idempotencyKey;
  if (key === null) return null;
  const form = body instanceof MultipartForm;
  const fingerprint = form ? fingerprintForm(operation, body) : fingerprintJson(operation, body);
  return { operation, key, fingerprint, atMostOnce };
}
