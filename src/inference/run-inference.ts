import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Micro } from '../core/types/micro';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { StoredAnswer } from '../auth/idempotency/idempotency.service';
import type { CatalogModel } from '../models/catalog-model';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { cancellation } from '../providers/kit/transport-error';
import { AttemptRunner } from './attempt-runner';
import { type ClientPresence, ClientWatch } from './client-presence';
import { endingOf } from './ending';
import { inferenceHeaders } from './inference-headers';
import type { Bill, Candidate, InferenceInput, RenderedAnswer } from './inference.types';
import {
  isOutcomeUnknown,
  KeyedAnswers,
  type ReplayedResponse,
  UNKNOWN_OUTCOME,
  unknownOutcome,
} from './keyed-answers';
import { Meter } from './meter';
import { toClientError } from './provider-failure';
import { sendPieces } from './send-pieces';
import { limitStall } from './stalled-reader';

/** The fields of a provider's complete response that metering needs. */
export interface MeteredResult {
  readonly usage: UsageVector | null;
  readonly outputBytes: number;
}

export interface UnaryInference<Result extends MeteredResult> {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  /**
   * Work before the first attempt, under the rate limits and the hold, such as fetching referenced files.
   * @param candidates the candidates to call, in order.
   * @throws GatewayError then no provider is called and nothing is charged.
   */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  attempt(candidate: Candidate, call: ProviderCall): Promise<Result>;
  /**
   * Work on a response before it is charged, such as storing it.
   * @throws GatewayError then nothing is charged.
   */
  deliver?(result: Result): Promise<void>;
  /** Estimates usage that the provider did not report. */
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
  /** The response in the endpoint's format. */
  render(result: Result, bill: Bill): RenderedAnswer;
  /** Restores a stored response for replay: for content that expires, such as signed URLs, or is stored packed. */
  refresh?(stored: StoredAnswer): Promise<ReplayedResponse>;
}

/**
 * The use case of every non-streamed response: hold, attempt, settle, record, respond; with an `Idempotency-Key` once, and
 * replayed afterwards. A sent response has a committed charge; a sent error was not charged.
 */
@Injectable()
export class RunInference {
  private readonly stallMs: number;

  constructor(
    private readonly answers: KeyedAnswers,
    private readonly attempts: AttemptRunner,
    private readonly clients: ClientWatch,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.stallMs = config.inference.idleTimeoutMs;
  }

  /** Resolves when the response has been handed to the server. @throws GatewayError if there is none. */
  async run<Result extends MeteredResult>(inference: UnaryInference<Result>): Promise<void> {
    const { input, reply } = inference;
    const opened = await this.answers.open(input);
    if (!(opened instanceof Meter)) {
      const fresh = opened.status === 200 ? await inference.refresh?.(opened) : undefined;
      this.answers.replay(fresh ?? opened, reply, input);
      limitStall(reply.raw, this.stallMs);
      return;
    }
    const client = this.clients.watch(reply.raw, input.context.idempotencyKey !== null);
    try {
      const { bill, answer } = await this.obtainAnswer(inference, opened, client);
      const kept = { ...answer, head: answer.keptHead ?? answer.head };
      const chargedMicro = await opened.settle(bill, undefined, this.answers.storing(opened, kept));
      this.answers.noteAnswer(opened);
      reply
        .headers(inferenceHeaders(input, opened.servedModel, chargedMicro))
        .header('content-type', answer.contentType);
      send(reply, answer, chargedMicro);
      limitStall(reply.raw, this.stallMs);
    } finally {
      client.end();
    }
  }

  /** Returns the response to charge and send. A failure here is not charged. */
  private async obtainAnswer<Result extends MeteredResult>(
    inference: UnaryInference<Result>,
    meter: Meter,
    client: ClientPresence,
  ): Promise<{ readonly bill: Bill; readonly answer: RenderedAnswer }> {
    try {
      await inference.prepare?.(client.signal, meter.candidates);
      const result = await this.attempts.run(meter, client.signal, (candidate, call) =>
        inference.attempt(candidate, call),
      );
      meter.markFirstToken();
      await inference.deliver?.(result);
      // The client may have disconnected in the meantime.
      if (client.signal.aborted) throw cancellation('first_token', client.signal.reason);
      const usage = result.usage ?? inference.estimateUsage(result.outputBytes, meter.servedModel);
      const bill = meter.bill(usage, result.usage === null);
      return { bill, answer: inference.render(result, bill) };
    } catch (error) {
      // Nothing was delivered, so nothing is charged (decision *zero-output*), also after a disconnect.
      if (!isOutcomeUnknown(inference.input, error)) {
        await meter.release(endingOf(error, client.gone));
        throw toClientError(error);
      }
      const failure = unknownOutcome(error);
      await meter.release(endingOf(failure, client.gone), UNKNOWN_OUTCOME);
      throw failure;
    }
  }
}

function send(reply: FastifyReply, { head, tail }: RenderedAnswer, chargedMicro: Micro): void {
  const end = tail === null ? '' : chargedMicro + tail;
  if (typeof head === 'string') {
    reply.send(head + end);
  } else if (Buffer.isBuffer(head)) {
    reply.send(Buffer.concat([head, Buffer.from(end)]));
  } else {
    sendPieces(reply, [...head, Buffer.from(end)]);
  }
}
