import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { IdempotencyCompletion } from '../common/idempotency';
import type { GatewayError } from '../common/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { AnswerRecording } from '../idempotency/answer-recording';
import type { CatalogModel } from '../models/catalog-model';
import type { ChatStream, StreamProgress, StreamSink } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { ProviderError } from '../providers/contract/provider-error';
import { AttemptRunner } from './attempt-runner';
import { type ClientPresence, ClientWatch } from './client-presence';
import { endingOf } from './ending';
import type { Bill, Candidate, InferenceInput, PricedText } from './inference.types';
import { inferenceHeaders } from './inference-headers';
import { KeyedAnswers } from './keyed-answers';
import { Meter } from './meter';
import { asGatewayError } from './provider-failure';
import { RecordingSink } from './recording-sink';
import { DONE, EVENT_STREAM, eventOf, SseReply } from './sse-reply';
import { limitStall } from './stalled-reader';

/** Silence after which the head of a stream goes out, once nobody is left to fall back to (decision *pings*). */
const HEADERS_AFTER_MS = 10_000;

export interface StreamedInference {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  open(candidate: Candidate, call: ProviderCall): Promise<ChatStream>;
  /** What is charged for output that was delivered without the provider reporting usage. */
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
  /** The events that follow the last chunk, made when the bill is known; without `[DONE]`. */
  lastEvents(progress: StreamProgress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** How the format tells a failure in mid-stream. Without it the error envelope is an event (contract 6.3). */
  failureEvents?(error: GatewayError, requestId: string): string | undefined;
}

/** One streamed answer under way. */
interface Run {
  readonly inference: StreamedInference;
  readonly meter: Meter;
  readonly client: ClientPresence;
  readonly sse: SseReply;
  /** `null` without a key. */
  readonly recording: AnswerRecording | null;
}

/**
 * The use-case of every streamed answer: hold, open, forward, settle, end; under an `Idempotency-Key` once, and repeated
 * from then on. The last events go out after the charge is committed; whatever was delivered before a failure or a
 * disconnect is charged; a stream that failed says so, and leaves its key free.
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
  async run(inference: StreamedInference): Promise<void> {
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
    const headers = () => inferenceHeaders(input, meter.servedModel, meter.holdMicro);
    const sse = new SseReply(reply, headers, this.pingMs, this.stallMs);
    try {
      await this.stream({ inference, meter, client, sse, recording });
    } finally {
      client.end();
      recording?.discard();
    }
  }

  private async stream(run: Run): Promise<void> {
    const { meter, client, sse, recording } = run;
    let stream: ChatStream | null = null;
    let bill: Bill;
    let last: PricedText;
    try {
      stream = await this.open(run);
      meter.markFirstToken();
      sse.start();
      const sink: StreamSink = recording === null ? sse : new RecordingSink(sse, recording, client);
      await stream.pipe(sink);
      // A client that left during the last chunks is settled like one that left before them.
      client.signal.throwIfAborted();
      bill = this.billFor(run, stream.progress);
      last = run.inference.lastEvents(stream.progress, bill, meter.servedModel);
    } catch (error) {
      return this.endBroken(error, run, stream);
    }
    await this.endComplete(run, bill, last);
  }

  private async open({ inference, meter, client, sse }: Run): Promise<ChatStream> {
    let headTimer: NodeJS.Timeout | undefined;
    try {
      return await this.attempts.open(
        meter,
        client.signal,
        (candidate, call) => inference.open(candidate, call),
        () => (headTimer = setTimeout(() => sse.startSilently(), HEADERS_AFTER_MS)),
      );
    } finally {
      clearTimeout(headTimer);
    }
  }

  private billFor({ inference, meter }: Run, { usage, outputBytes }: StreamProgress): Bill {
    return meter.bill(usage ?? inference.estimateUsage(outputBytes, meter.servedModel), usage === null);
  }

  private async endComplete({ inference, meter, sse, recording }: Run, bill: Bill, last: PricedText): Promise<void> {
    try {
      const completion = recording === null ? null : await this.keep(meter, recording, last);
      const chargedMicro = await meter.settle(bill, undefined, completion);
      this.answers.noteAnswer(meter);
      sse.finish(last.head + chargedMicro + last.tail);
    } catch (error) {
      this.report(error, inference);
      fail(sse, asGatewayError(error), inference);
    }
  }

  private keep(meter: Meter, recording: AnswerRecording, last: PricedText): Promise<IdempotencyCompletion | null> {
    recording.add(last.head);
    const answer = { contentType: EVENT_STREAM, head: recording.take(), tail: last.tail + DONE };
    return this.answers.keep(meter, answer, { 'x-llm-cost-micro': String(meter.holdMicro) });
  }

  private async endBroken(error: unknown, run: Run, stream: ChatStream | null): Promise<void> {
    const { inference, client, sse } = run;
    const failure = asGatewayError(error);
    if (sse.started && !client.gone) this.report(error, inference);
    const { requestId } = inference.input.context;
    try {
      await this.payBroken(error, run, stream);
    } catch (cause) {
      // Billing sees to the hold; a stream that has begun must end all the same.
      if (!sse.started) throw cause;
      this.logger.error({ message: 'a broken stream was not accounted for yet', requestId, err: cause });
    }
    if (client.gone) {
      sse.abandon();
    } else if (sse.started) {
      fail(sse, failure, inference);
    } else {
      throw failure;
    }
  }

  /** Before the start, failures are reported by whoever asked the provider, or by the error reply. */
  private report(error: unknown, { input }: StreamedInference): void {
    const { requestId, clientRequestId } = input.context;
    const facts = { requestId, client_request_id: clientRequestId, model: input.model.id, err: error };
    if (error instanceof ProviderError) this.logger.warn({ message: 'a stream broke off', code: error.code, ...facts });
    else this.logger.error({ message: 'unexpected failure in a stream', ...facts });
  }

  private async payBroken(error: unknown, { inference, meter, client }: Run, stream: ChatStream | null): Promise<void> {
    const delivered = stream?.progress.outputBytes ?? 0;
    const ending = endingOf(error, client.gone);
    if (stream === null || delivered === 0) return meter.release(ending);
    // What an upstream reports on the way is not the end of the count.
    const reported = stream.progress.finishReason === null ? null : stream.progress.usage;
    const usage = reported ?? inference.estimateUsage(delivered, meter.servedModel);
    await meter.settle(meter.bill(usage, reported === null), ending);
  }
}

function fail(sse: SseReply, failure: GatewayError, inference: StreamedInference): void {
  const { requestId } = inference.input.context;
  sse.finish(inference.failureEvents?.(failure, requestId) ?? eventOf(failure.toEnvelope(requestId)));
}
