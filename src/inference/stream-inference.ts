import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyCompletion } from '../common/idempotency';
import type { Micro } from '../common/micro';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { AnswerRecording } from '../idempotency/answer-recording';
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

/** Silence after which the head of a stream goes out, once nobody is left to fall back to (decision *pings*). */
const HEADERS_AFTER_MS = 10_000;

interface StreamedAnswer<Progress extends Delivered> {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  /** As `UnaryInference.prepare`. */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  open(candidate: Candidate, call: ProviderCall): Promise<OpenedStream<Progress>>;
  /** What is charged for output that was delivered without the provider reporting usage. */
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
}

/** An answer that is sent as events. */
export interface StreamedInference<Progress extends Delivered = StreamProgress> extends StreamedAnswer<Progress> {
  /** The events that follow the last one of the provider, made when the bill is known; without `[DONE]`. */
  lastEvents(progress: Progress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** How the format tells a failure in mid-stream. Without it the error envelope is an event (contract 6.3). */
  failureEvents?(error: GatewayError, requestId: string): string | undefined;
}

/** An answer that is nothing but the bytes of a file. */
export interface StreamedFile<Progress extends Delivered> extends StreamedAnswer<Progress> {
  readonly contentType: string;
}

type Streamed<Progress extends Delivered> = StreamedInference<Progress> | StreamedFile<Progress>;

/** One streamed answer under way. */
interface Run {
  /** What it opens is handed to itself only, so that here it does not matter what its progress tells besides. */
  readonly inference: Streamed<Delivered>;
  readonly meter: Meter;
  readonly client: ClientPresence;
  readonly out: StreamReply;
  /** `null` without a key. */
  readonly recording: AnswerRecording | null;
  /** What the head says, or has said: what is held, unless it is known better. */
  headCostMicro: Micro;
}

/**
 * The use-case of every streamed answer: hold, open, forward, settle, end; under an `Idempotency-Key` once, and repeated
 * from then on. The end goes out after the charge is committed; whatever was delivered before a failure or a disconnect
 * is charged, of what is sold in parts; a stream that failed says so, or breaks off where it has no words for it, and
 * leaves its key free.
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

  /** Resolves when the answer has ended. @throws GatewayError only while nothing has been sent. */
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
    // The model is the one that is being asked when the head goes out: by then nobody else can answer.
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
      this.nameCost(run, stream.progress);
      out.start();
      const sink: StreamSink = recording === null ? out : new RecordingSink(out, recording, client);
      await stream.pipe(sink);
      // A client that left during the last chunks is settled like one that left before them.
      client.signal.throwIfAborted();
      bill = this.billFor(run, stream.progress);
      last = 'contentType' in inference ? null : inference.lastEvents(stream.progress, bill, meter.servedModel);
    } catch (error) {
      return this.endBroken(error, run, stream);
    }
    await this.endComplete(run, bill, last);
  }

  /** Usage that is known when the stream of a whole opens is what will be charged, and not only held. */
  private nameCost(run: Run, { usage }: Delivered): void {
    const { meter, out } = run;
    if (meter.input.soldWhole !== true || usage === null || out.started) return;
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
      const completion = recording === null ? null : await this.keep(run, recording, last);
      const chargedMicro = await meter.settle(bill, undefined, completion);
      this.answers.noteAnswer(meter);
      out.finish(last === null ? '' : last.head + chargedMicro + last.tail);
    } catch (error) {
      this.report(error, inference);
      out.fail(asGatewayError(error));
    }
  }

  private keep(
    { meter, out, headCostMicro }: Run,
    recording: AnswerRecording,
    last: PricedText | null,
  ): Promise<IdempotencyCompletion | null> {
    if (last !== null) recording.add(last.head);
    const tail = last === null ? null : last.tail + DONE;
    const answer = { contentType: out.contentType, head: recording.take(), tail };
    return this.answers.keep(meter, answer, { 'x-llm-cost-micro': String(headCostMicro) });
  }

  private async endBroken(error: unknown, run: Run, stream: OpenedStream<Delivered> | null): Promise<void> {
    const { inference, client, out } = run;
    const failure = asGatewayError(error);
    if (out.started && !client.gone) this.report(error, inference);
    const { requestId } = inference.input.context;
    try {
      await this.payBroken(error, run, stream);
    } catch (cause) {
      // Billing sees to the hold; a stream that has begun must end all the same.
      if (!out.started) throw cause;
      this.logger.error({ message: 'a broken stream was not accounted for yet', requestId, err: cause });
    }
    if (client.gone) {
      out.abandon();
    } else if (out.started) {
      out.fail(failure);
    } else {
      throw failure;
    }
  }

  /** Before the start, failures are reported by whoever asked the provider, or by the error reply. */
  private report(error: unknown, { input }: Pick<StreamedInference, 'input'>): void {
    const { requestId, clientRequestId } = input.context;
    const facts = { requestId, client_request_id: clientRequestId, model: input.model.id, err: error };
    if (error instanceof ProviderError) this.logger.warn({ message: 'a stream broke off', code: error.code, ...facts });
    else this.logger.error({ message: 'unexpected failure in a stream', ...facts });
  }

  private async payBroken(
    error: unknown,
    { inference, meter, client }: Run,
    stream: OpenedStream<Delivered> | null,
  ): Promise<void> {
    const delivered = stream?.progress.outputBytes ?? 0;
    const ending = endingOf(error, client.gone);
    if (stream === null || delivered === 0) return meter.release(ending);
    // A provider that fails has not delivered; work that was stopped because nobody waits for it has been asked for.
    if (meter.input.soldWhole === true && !client.signal.aborted) return meter.release(ending);
    // What an upstream reports on the way is not the end of the count.
    const reported = stream.progress.finishReason === null ? null : stream.progress.usage;
    const usage = reported ?? inference.estimateUsage(delivered, meter.servedModel);
    await meter.settle(meter.bill(usage, reported === null), ending);
  }
}
