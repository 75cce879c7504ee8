import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { ChatStream, StreamProgress } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { ProviderError } from '../providers/contract/provider-error';
import { AttemptRunner } from './attempt-runner';
import { type ClientPresence, watchClient } from './client-presence';
import { endingOf } from './ending';
import type { Candidate, InferenceInput, Receipt } from './inference.types';
import { inferenceHeaders } from './inference-headers';
import type { Meter } from './meter';
import { MeteringService } from './metering.service';
import { asGatewayError } from './provider-failure';
import { SseReply } from './sse-reply';

/** Silence after which the head of a stream goes out, once nobody is left to fall back to (decision *pings*). */
const HEADERS_AFTER_MS = 10_000;

export interface StreamedInference {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  open(candidate: Candidate, call: ProviderCall): Promise<ChatStream>;
  /** What is charged for output that was delivered without the provider reporting usage. */
  estimateUsage(outputBytes: number): UsageVector;
  /** The events that follow the last chunk, made when the charge is known; without `[DONE]`. */
  lastEvents(progress: StreamProgress, receipt: Receipt): string;
}

/**
 * The use-case of every streamed answer: hold, open, forward, settle, end. The last events go out after the charge is
 * committed; whatever was delivered before a failure or a disconnect is charged; a stream that failed says so.
 */
@Injectable()
export class StreamInference {
  private readonly logger = new Logger(StreamInference.name);
  private readonly pingMs: number;
  private readonly stallMs: number;

  constructor(
    private readonly metering: MeteringService,
    private readonly attempts: AttemptRunner,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.pingMs = config.http.ssePingMs;
    this.stallMs = config.inference.idleTimeoutMs;
  }

  /** Resolves when the answer has ended. @throws GatewayError only while nothing has been sent. */
  async run(inference: StreamedInference): Promise<void> {
    const { input, reply } = inference;
    const meter = await this.metering.open(input);
    const client = watchClient(reply.raw);
    const sse = new SseReply(reply, inferenceHeaders(input, meter.holdMicro), this.pingMs, this.stallMs);
    let stream: ChatStream | null = null;
    try {
      stream = await this.open(inference, meter, client, sse);
      meter.markFirstToken();
      sse.start();
      await stream.pipe(sse);
      // A client that left during the last chunks is settled like one that left before them.
      client.signal.throwIfAborted();
    } catch (error) {
      return this.endBroken(error, inference, meter, client, sse, stream);
    }
    await this.endComplete(inference, meter, sse, stream.progress);
  }

  private async open(
    inference: StreamedInference,
    meter: Meter,
    client: ClientPresence,
    sse: SseReply,
  ): Promise<ChatStream> {
    let headTimer: NodeJS.Timeout | undefined;
    try {
      return await this.attempts.run(
        meter,
        client.signal,
        (candidate, call) => inference.open(candidate, call),
        () => (headTimer = setTimeout(() => sse.startSilently(), HEADERS_AFTER_MS)),
      );
    } finally {
      clearTimeout(headTimer);
    }
  }

  private async endComplete(
    inference: StreamedInference,
    meter: Meter,
    sse: SseReply,
    progress: StreamProgress,
  ): Promise<void> {
    const estimated = progress.usage === null;
    try {
      const receipt = await meter.settle(progress.usage ?? inference.estimateUsage(progress.outputBytes), estimated);
      sse.finish(inference.lastEvents(progress, receipt));
    } catch (error) {
      this.report(error, inference);
      sse.fail(asGatewayError(error), inference.input.context.requestId);
    }
  }

  private async endBroken(
    error: unknown,
    inference: StreamedInference,
    meter: Meter,
    client: ClientPresence,
    sse: SseReply,
    stream: ChatStream | null,
  ): Promise<void> {
    const failure = asGatewayError(error);
    if (sse.started && !client.gone) this.report(error, inference);
    const { requestId } = inference.input.context;
    try {
      await this.payBroken(error, inference, meter, client, stream);
    } catch (cause) {
      // Billing sees to the hold; a stream that has begun must end all the same.
      if (!sse.started) throw cause;
      this.logger.error({ message: 'a broken stream was not accounted for yet', requestId, err: cause });
    }
    if (client.gone) {
      sse.abandon();
    } else if (sse.started) {
      sse.fail(failure, requestId);
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

  private async payBroken(
    error: unknown,
    inference: StreamedInference,
    meter: Meter,
    client: ClientPresence,
    stream: ChatStream | null,
  ): Promise<void> {
    const delivered = stream?.progress.outputBytes ?? 0;
    const ending = endingOf(error, client.gone);
    if (stream === null || delivered === 0) return meter.release(ending);
    // What an upstream reports on the way is not the end of the count.
    const reported = stream.progress.finishReason === null ? null : stream.progress.usage;
    await meter.settle(reported ?? inference.estimateUsage(delivered), reported === null, ending);
  }
}
