import { Injectable } from '@nestjs/common';
import { type Answer, Bytes, Json, JSON_TYPE } from '../core/http/answer';
import type { StoredResponse } from '../auth/idempotency/idempotency.service';
import {
  ReplayedResponse,
  type StoredContent,
  UNKNOWN_OUTCOME,
  unknownOutcome,
} from '../auth/idempotency/replayed-response';
import type { Micro } from '../core/types/micro';
import type { CatalogModel } from '../models/catalog-model';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { cancellation } from '../providers/kit/upstream-errors';
import { AttemptRunner } from './attempt-runner';
import { DisconnectTracker, IdempotentExecution, isOutcomeUnknown, type TrackedClient } from './idempotent-execution';
import type { Bill, Candidate, InferenceInput, RenderedAnswer, UsageEstimator } from './inference.types';
import { toClientError } from './provider-failure';
import { endingOf, RequestReservation } from './request-reservation';

/** The fields of a provider's complete response that metering needs. */
export interface MeteredResult {
  readonly usage: UsageVector | null;
  readonly outputBytes: number;
}

export interface UnaryInference<Result extends MeteredResult> extends UsageEstimator {
  readonly input: InferenceInput;
  /**
   * Work before the first attempt, under the rate limits and the hold, such as fetching referenced files.
   * @param candidates the candidates to call, in order.
   * @throws GatewayError, after which no provider is called and nothing is charged.
   */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  attempt(candidate: Candidate, call: ProviderCall): Promise<Result>;
  /**
   * Work on a response before it is charged, such as storing it.
   * @throws GatewayError, after which nothing is charged.
   */
  deliver?(result: Result): Promise<void>;
  /** Why the model stopped, for traces; absent for formats without it. */
  finishReasonOf?(result: Result): string | undefined;
  /** The response in the endpoint's format. */
  render(result: Result, bill: Bill): RenderedAnswer;
  /** Restores a stored response for replay: for content that expires, such as signed URLs, or is stored packed. */
  refresh?(stored: StoredResponse): Promise<StoredContent>;
}

/**
 * The use case of every non-streamed response: hold, attempt, settle, record, respond; with an `Idempotency-Key` once,
 * and replayed afterwards. A returned answer has a committed charge; a thrown error was not charged.
 */
@Injectable()
export class UnaryInferenceService {
  constructor(
    private readonly idempotency: IdempotentExecution,
    private readonly attempts: AttemptRunner,
    private readonly disconnects: DisconnectTracker,
  ) {}

  /** @throws GatewayError when there is no response to send. */
  async execute<Result extends MeteredResult>(inference: UnaryInference<Result>): Promise<Answer> {
    const { input } = inference;
    const reservation = await this.idempotency.admitOrReplay(input);
    if (!(reservation instanceof RequestReservation)) {
      const fresh = reservation.status === 200 ? await inference.refresh?.(reservation) : undefined;
      return new ReplayedResponse(fresh ?? reservation);
    }
    const client = this.disconnects.track(input.context.connection, input.context.idempotencyKey !== null);
    try {
      const { bill, rendered } = await this.obtainResponse(inference, reservation, client);
      const kept = { ...rendered, head: rendered.keptHead ?? rendered.head };
      const chargedMicro = await reservation.settle(bill, undefined, this.idempotency.storeCallback(reservation, kept));
      this.idempotency.noteDuration(reservation);
      return toAnswer(rendered, reservation.servedModel, chargedMicro);
    } finally {
      client.end();
    }
  }

  /** Returns the response to charge and send. A failure here is not charged. */
  private async obtainResponse<Result extends MeteredResult>(
    inference: UnaryInference<Result>,
    reservation: RequestReservation,
    client: TrackedClient,
  ): Promise<{ readonly bill: Bill; readonly rendered: RenderedAnswer }> {
    try {
      if (inference.prepare !== undefined) await inference.prepare(client.signal, reservation.candidates);
      const result = await this.attempts.fetchReply(reservation, client.signal, (candidate, call) =>
        inference.attempt(candidate, call),
      );
      reservation.markFirstToken();
      reservation.steps?.noteFinish(inference.finishReasonOf?.(result));
      if (inference.deliver !== undefined) await inference.deliver(result);
      // The client may have disconnected in the meantime.
      if (client.signal.aborted) throw cancellation('first_token', client.signal.reason);
      const bill = reservation.bill(result.usage, result.outputBytes, inference);
      return { bill, rendered: inference.render(result, bill) };
    } catch (error) {
      // Nothing was delivered, so nothing is charged, even after a disconnect.
      if (!isOutcomeUnknown(inference.input, error)) {
        await reservation.release(endingOf(error, client.disconnected));
        throw toClientError(error);
      }
      const failure = unknownOutcome(error);
      await reservation.release(endingOf(failure, client.disconnected), UNKNOWN_OUTCOME);
      throw failure;
    }
  }
}

function toAnswer({ contentType, head, tail }: RenderedAnswer, servedBy: CatalogModel, chargedMicro: Micro): Answer {
  const answerHead = { billed: { modelId: servedBy.id, costMicro: chargedMicro } };
  const end = tail === null ? '' : chargedMicro + tail;
  if (typeof head === 'string') {
    return contentType === JSON_TYPE
      ? new Json(head + end, answerHead)
      : new Bytes(head + end, contentType, answerHead);
  }
  const pieces = Buffer.isBuffer(head) ? Buffer.concat([head, Buffer.from(end)]) : [...head, Buffer.from(end)];
  return new Bytes(pieces, contentType, answerHead);
}
