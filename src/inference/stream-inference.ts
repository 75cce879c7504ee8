import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../core/errors/gateway-error';
import type { StoreAnswer } from '../billing/ledger/money.types';
import type { Micro } from '../core/types/micro';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { AnswerRecording } from '../auth/idempotency/answer-recording';
import type { CatalogModel } from '../models/catalog-model';
import type { StreamProgress, StreamSink } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { ProviderError } from '../providers/contract/provider-error';
import { AttemptRunner } from './attempt-runner';
import { ByteReply } from './byte-reply';
import { type ClientPresence, ClientWatch } from './client-presence';
import { endingOf } from './ending';
import type { Bill, Candidate, Delivered, InferenceInput, OpenedStream, PricedText } from './inference.types';
import { inferenceHeaders } from './inference-headers';
import { KeyedAnswers } from './keyed-answers';
import { Meter } from './meter';
import { asGatewayError } from './provider-failure';
import { RecordingSink } from './recording-sink';
import { DONE, eventOf, SseReply } from './sse-reply';
import { limitStall } from './stalled-reader';
import type { StreamReply } from './stream-reply';

/** Silence after which the headers of a stream are sent, once no fallback is left (decision *pings*). */
const HEADERS_AFTER_MS = 10_000;

interface StreamedAnswer<Progress extends Delivered> {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  /** As `UnaryInference.prepare`. */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  open(candidate: Candidate, call: ProviderCall): Promise<OpenedStream<Progress>>;
  /** Estimates the usage of delivered output when the provider reported none. */
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
}

/** A response sent as server-sent events. */
export interface StreamedInference<Progress extends Delivered = StreamProgress> extends StreamedAnswer<Progress> {
  /** The events after the provider's last one, rendered when the bill is known; without `[DONE]`. */
  lastEvents(progress: Progress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** The events that report a failure in mid-stream. Default: the error envelope as an event (contract 6.3). */
  failureEvents?(error: GatewayError, requestId: string): string | undefined;
}

/** A response that consists of the raw bytes of a file. */
export interface StreamedFile<Progress extends Delivered> extends StreamedAnswer<Progress> {
  readonly contentType: string;
}

type Streamed<Progress extends Delivered> = StreamedInference<Progress> | StreamedFile<Progress>;

/** One streamed response in progress. */
interface Run {
  /** Its progress is passed back to it only, so further fields of the progress are irrelevant here. */
  readonly inference: Streamed<Delivered>;
  readonly meter: Meter;
  readonly client: ClientPresence;
  readonly out: StreamReply;
  /** `null` without a key. */
  readonly recording: AnswerRecording | null;
  /** The cost in the headers: the hold, unless the exact cost is known. */
  headCostMicro: Micro;
}

/**
 * The use case of every streamed response: hold, open, forward, settle, end; with an `Idempotency-Key` once, and replayed
 * afterwards. The end is sent after the charge is committed. Output delivered before a failure or a disconnect is charged,
 * unless the response is all-or-nothing. A failed stream reports its failure, or resets the connection where the format
 * cannot, and frees its key.
 */
@Injectable()
export class StreamInference {
  private readonly logger = new Logger(StreamInference.name);
  private readonly pingMs: number;
  private readonly stallMs: number;

  constructor(
    private readonly answers: KeyedAnswers,
    private readonly attempts: AttemptRunner,
    private readonly clients: ClientWatch,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.pingMs = config.http.ssePingMs;
    this.stallMs = config.inference.idleTimeoutMs;
  }

  /** Resolves when the response has ended. @throws GatewayError only before anything has been sent. */
  async run<Progress extends Delivered>(inference: Streamed<Progress>): Promise<void> {
    const { input, reply } = inference;
    const meter = await this.answers.open(input);
    if (!(meter instanceof Meter)) {
      this.answers.replay(meter, reply, input);
      limitStall(reply.raw, this.stallMs);
      return;
    }
    const recording = this.answers.beginRecording(input);
    const client = this.clients.watch(reply.raw, recording !== null);
    // When the headers are sent, no failover to another model is possible.
    const headers = () => inferenceHeaders(input, meter.servedModel, run.headCostMicro);
    const out = this.replyOf(inference, headers);
    const run: Run = { inference, meter, client, out, recording, headCostMicro: meter.holdMicro };
    try {
      await this.stream(run);
    } finally {
      client.end();
      recording?.discard();
    }
  }

  private replyOf(inference: Streamed<Delivered>, headers: () => Record<string, string>): StreamReply {
    const { input, reply } = inference;
    if ('contentType' in inference) return new ByteReply(reply, inference.contentType, headers, this.stallMs);
    const { requestId } = input.context;
    const failureEvents = (failure: GatewayError): string =>
      inference.failureEvents?.(failure, requestId) ?? eventOf(failure.toEnvelope(requestId));
    return new SseReply(reply, headers, failureEvents, this.pingMs, this.stallMs);
  }

  private async stream(run: Run): Promise<void> {
    const { inference, meter, client, out, recording } = run;
    let stream: OpenedStream<Delivered> | null = null;
    let bill: Bill;
    let last: PricedText | null;
    try {
      await inference.prepare?.(client.signal, meter.candidates);
      stream = await this.open(run);
      meter.markFirstToken();
      this.setExactHeaderCost(run, stream.progress);
      out.start();
      const sink: StreamSink = recording === null ? out : new RecordingSink(out, recording, client);
      await stream.pipe(sink);
      // A disconnect during the last chunks is settled like an earlier one.
      client.signal.throwIfAborted();
      bill = this.billFor(run, stream.progress);
      last = 'contentType' in inference ? null : inference.lastEvents(stream.progress, bill, meter.servedModel);
    } catch (error) {
      return this.endInterrupted(error, run, stream);
    }
    await this.endComplete(run, bill, last);
  }

  /** The usage of an all-or-nothing stream may be known when it opens: then the headers name the exact cost. */
  private setExactHeaderCost(run: Run, { usage }: Delivered): void {
    const { meter, out } = run;
    if (meter.input.allOrNothing !== true || usage === null || out.started) return;
    run.headCostMicro = meter.bill(usage, false).costMicro;
  }

  private async open({ inference, meter, client, out }: Run): Promise<OpenedStream<Delivered>> {
    let headTimer: NodeJS.Timeout | undefined;
    try {
      return await this.attempts.open(
        meter,
        client.signal,
        (candidate, call) => inference.open(candidate, call),
        () => (headTimer = setTimeout(() => out.startSilently(), HEADERS_AFTER_MS)),
      );
    } finally {
      clearTimeout(headTimer);
    }
  }

  private billFor({ inference, meter }: Run, { usage, outputBytes }: Delivered): Bill {
    return meter.bill(usage ?? inference.estimateUsage(outputBytes, meter.servedModel), usage === null);
  }

  private async endComplete(run: Run, bill: Bill, last: PricedText | null): Promise<void> {
    const { inference, meter, out, recording } = run;
    try {
      const storeAnswer = recording === null ? null : this.storing(run, recording, last);
      const chargedMicro = await meter.settle(bill, undefined, storeAnswer);
      this.answers.noteAnswer(meter);
      out.finish(last === null ? '' : last.head + chargedMicro + last.tail);
    } catch (error) {
      this.report(error, inference);
      out.fail(asGatewayError(error));
    }
  }

  private storing(
    { meter, out, headCostMicro }: Run,
    recording: AnswerRecording,
    last: PricedText | null,
  ): StoreAnswer | null {
    if (last !== null) recording.add(last.head);
    const tail = last === null ? null : last.tail + DONE;
    const { whole, release } = recording.take();
    const answer = { contentType: out.contentType, head: whole, tail };
    const store = this.answers.storing(meter, answer, { 'x-llm-cost-micro': String(headCostMicro) });
    // The recorded bytes stay counted until they are stored, which an outage can delay beyond the request.
    return store && ((signal) => store(signal).finally(release));
  }

  private async endInterrupted(error: unknown, run: Run, stream: OpenedStream<Delivered> | null): Promise<void> {
    const { inference, client, out } = run;
    const failure = asGatewayError(error);
    if (out.started && !client.gone) this.report(error, inference);
    const { requestId } = inference.input.context;
    try {
      await this.settleInterrupted(error, run, stream);
    } catch (cause) {
      // Billing still ends the hold; a started stream must end in any case.
      if (!out.started) throw cause;
      this.logger.error({
        event: 'stream_settlement_delayed',
        message: 'an interrupted stream is not settled yet',
        requestId,
        err: cause,
      });
    }
    if (client.gone) {
      out.abandon();
    } else if (out.started) {
      out.fail(failure);
    } else {
      throw failure;
    }
  }

  /** Failures before the start are reported by the attempt series or the error response. */
  private report(error: unknown, { input }: Pick<StreamedInference, 'input'>): void {
    const { requestId, clientRequestId } = input.context;
    const facts = { requestId, client_request_id: clientRequestId, model: input.model.id, err: error };
    if (error instanceof ProviderError) {
      this.logger.warn({
        event: 'stream_interrupted',
        message: 'a stream was interrupted',
        code: error.code,
        ...facts,
      });
    } else {
      this.logger.error({ event: 'stream_failed', message: 'unexpected failure in a stream', ...facts });
    }
  }

  private async settleInterrupted(
    error: unknown,
    { inference, meter, client }: Run,
    stream: OpenedStream<Delivered> | null,
  ): Promise<void> {
    const delivered = stream?.progress.outputBytes ?? 0;
    const ending = endingOf(error, client.gone);
    if (stream === null || delivered === 0) return meter.release(ending);
    // A provider failure is free; work that was aborted by a disconnect is charged.
    if (meter.input.allOrNothing === true && !client.signal.aborted) return meter.release(ending);
    // Usage reported before the finish reason is incomplete.
    const reported = stream.progress.finishReason === null ? null : stream.progress.usage;
    const usage = reported ?? inference.estimateUsage(delivered, meter.servedModel);
    await meter.settle(meter.bill(usage, reported === null), ending);
  }
}
