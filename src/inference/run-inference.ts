import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Micro } from '../common/micro';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { StoredAnswer } from '../idempotency/idempotency.service';
import type { CatalogModel } from '../models/catalog-model';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { cancellation } from '../providers/kit/transport-error';
import { AttemptRunner } from './attempt-runner';
import { type ClientPresence, ClientWatch } from './client-presence';
import { endingOf } from './ending';
import { inferenceHeaders } from './inference-headers';
import type { Bill, Candidate, InferenceInput, RenderedAnswer } from './inference.types';
import { KeyedAnswers, type RepeatedAnswer } from './keyed-answers';
import { Meter } from './meter';
import { toClientError } from './provider-failure';
import { sendPieces } from './send-pieces';
import { limitStall } from './stalled-reader';

/** What a provider's whole answer must tell, whatever it holds besides. */
export interface MeteredResult {
  readonly usage: UsageVector | null;
  readonly outputBytes: number;
}

export interface UnaryInference<Result extends MeteredResult> {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  /**
   * Work before the first attempt that limits and money already cover, such as fetching what the request refers to.
   * @param candidates who will be asked, in this order.
   * @throws GatewayError then nobody is asked, and nothing is charged.
   */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  attempt(candidate: Candidate, call: ProviderCall): Promise<Result>;
  /**
   * What is left to be done with an answer before it is charged, such as storing it.
   * @throws GatewayError then nothing is charged.
   */
  deliver?(result: Result): Promise<void>;
  /** Stands in for usage that the provider did not report. */
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
  /** The answer in the endpoint's own format. */
  render(result: Result, bill: Bill): RenderedAnswer;
  /** What is to be repeated of a stored answer: for answers that age, as addresses do, or are kept in another form. */
  refresh?(stored: StoredAnswer): Promise<RepeatedAnswer>;
}

/**
 * The use-case of every answer that is sent whole: hold, attempt, settle, record, answer; under an `Idempotency-Key`
 * once, and repeated from then on. When an answer is sent its charge is committed; when an error is, nothing was charged.
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

  /** Resolves when the answer has been handed to the server. @throws GatewayError instead of any answer. */
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
      const { bill, answer } = await this.ask(inference, opened, client);
      const kept = { ...answer, head: answer.keptHead ?? answer.head };
      const chargedMicro = await opened.settle(bill, undefined, await this.answers.keep(opened, kept));
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

  /** What is left to be charged and sent. Whatever fails here costs nothing. */
  private async ask<Result extends MeteredResult>(
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
      // A client that left in the meantime is treated like one that left before.
      if (client.signal.aborted) throw cancellation('first_token', client.signal.reason);
      const usage = result.usage ?? inference.estimateUsage(result.outputBytes, meter.servedModel);
      const bill = meter.bill(usage, result.usage === null);
      return { bill, answer: inference.render(result, bill) };
    } catch (error) {
      // Nothing was delivered, so nothing is charged (decision *zero-output*), also when the client did not wait.
      await meter.release(endingOf(error, client.gone));
      throw toClientError(error);
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
