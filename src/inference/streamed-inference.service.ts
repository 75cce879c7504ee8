import { Injectable, Logger } from '@nestjs/common';
import type { GatewayError } from '../core/errors/gateway-error';
import {
  type Answer,
  type Billed,
  Bytes,
  DONE,
  EVENT_STREAM_TYPE,
  eventOf,
  EventStream,
  LiveBytes,
  type LiveOutput,
} from '../core/http/answer';
import type { StoreAnswer } from '../billing/ledger/money.types';
import { traceFieldsOf } from '../core/observability/traces/tracing';
import type { Micro } from '../core/types/micro';
import type { ResponseRecording } from '../auth/idempotency/response-store';
import { ReplayedResponse } from '../auth/idempotency/replayed-response';
import type { CatalogModel } from '../models/catalog-model';
import type { StreamProgress, StreamSink } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { AttemptRunner } from './attempt-runner';
import { DisconnectTracker, IdempotentExecution, type TrackedClient } from './idempotent-execution';
import type {
  Bill,
  Candidate,
  Delivered,
  InferenceInput,
  OpenedStream,
  PricedText,
  UsageEstimator,
} from './inference.types';
import { asGatewayError } from './provider-failure';
import { endingOf, RequestReservation } from './request-reservation';

/** Once no fallback is left, the headers of a stream are sent after this long without output. */
const HEADERS_AFTER_MS = 10_000;

interface StreamedAnswer<Progress extends Delivered> extends UsageEstimator {
  readonly input: InferenceInput;
  /** As `UnaryInference.prepare`. */
  prepare?(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void>;
  openStream(candidate: Candidate, call: ProviderCall): Promise<OpenedStream<Progress>>;
}

/** A response sent as server-sent events. */
export interface StreamedInference<Progress extends Delivered = StreamProgress> extends StreamedAnswer<Progress> {
  /** The events after the provider's last one, rendered when the bill is known; without `[DONE]`. */
  lastEvents(progress: Progress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** The events that report a failure in mid-stream. Default: the error envelope as an event. */
  failureEvents?(error: GatewayError, requestId: string): string | undefined;
}

/** A response that consists of the raw bytes of a file. */
export interface StreamedFile<Progress extends Delivered> extends StreamedAnswer<Progress> {
  readonly contentType: string;
}

type Streamed<Progress extends Delivered> = StreamedInference<Progress> | StreamedFile<Progress>;

/** One streamed response in progress. */
interface ActiveStream {
  /** Only the inference itself reads its progress, so this type omits further fields. */
  readonly inference: Streamed<Delivered>;
  readonly reservation: RequestReservation;
  readonly client: TrackedClient;
  readonly output: LiveOutput;
  /** `null` without a key. */
  readonly recording: ResponseRecording | null;
  readonly headers: StreamHeaders;
}

interface StreamHeaders {
  /** The cost in the headers: the hold, unless the exact cost is known. */
  costMicro: Micro;
}

/**
 * The use case of every streamed response: hold, open, forward, settle, end; with an `Idempotency-Key` once, and
 * replayed afterwards. The end is sent after the charge is committed. Output delivered before a failure or a disconnect
 * is charged, unless the response is all-or-nothing. A failed stream reports its failure, or resets the connection
 * where the format cannot, and frees its key.
 */
@Injectable()
export class StreamedInferenceService {
  private readonly logger = new Logger(StreamedInferenceService.name);

  constructor(
    private readonly idempotency: IdempotentExecution,
    private readonly attempts: AttemptRunner,
    private readonly disconnects: DisconnectTracker,
  ) {}

  /** Holds the cost; the returned answer calls the provider while it is sent. @throws GatewayError */
  async execute<Progress extends Delivered>(inference: Streamed<Progress>): Promise<Answer> {
    const { input } = inference;
    const reservation = await this.idempotency.admitOrReplay(input);
    if (!(reservation instanceof RequestReservation)) return new ReplayedResponse(reservation);
    const headers: StreamHeaders = { costMicro: reservation.holdMicro };
    // When the headers are sent, no failover to another model is possible.
    const billed = (): Billed => ({ modelId: reservation.servedModel.id, costMicro: headers.costMicro });
    const produce = (output: LiveOutput): Promise<void> => this.produce(inference, reservation, headers, output);
    if ('contentType' in inference) return new Bytes(new LiveBytes(produce, billed), inference.contentType);
    const { requestId } = input.context;
    return new EventStream(
      produce,
      billed,
      (failure) => inference.failureEvents?.(failure, requestId) ?? eventOf(failure.toEnvelope(requestId)),
    );
  }

  private async produce(
    inference: Streamed<Delivered>,
    reservation: RequestReservation,
    headers: StreamHeaders,
    output: LiveOutput,
  ): Promise<void> {
    const { input } = inference;
    const recording = this.idempotency.beginRecording(input);
    const client = this.disconnects.track(input.context.connection, recording !== null);
    try {
      await this.forward({ inference, reservation, client, output, recording, headers });
    } finally {
      client.end();
      recording?.discard();
    }
  }

  private async forward(active: ActiveStream): Promise<void> {
    const { inference, reservation, client, output, recording } = active;
    let stream: OpenedStream<Delivered> | null = null;
    let bill: Bill;
    let last: PricedText | null;
    try {
      await inference.prepare?.(client.signal, reservation.candidates);
      stream = await this.openStream(active);
      reservation.markFirstToken();
      this.setExactHeaderCost(active, stream.progress);
      output.start();
      await stream.pipe(recording === null ? output : new RecordingSink(output, recording, client));
      // A disconnect during the last chunks is settled like an earlier one.
      client.signal.throwIfAborted();
      bill = this.billFor(active, stream.progress);
      last = 'contentType' in inference ? null : inference.lastEvents(stream.progress, bill, reservation.servedModel);
    } catch (error) {
      return this.endInterrupted(error, active, stream);
    }
    await this.endComplete(active, bill, last);
  }

  /** The usage of an all-or-nothing stream may be known when it opens: then the headers name the exact cost. */
  private setExactHeaderCost(
    { inference, reservation, output, headers }: ActiveStream,
    { usage, outputBytes }: Delivered,
  ): void {
    if (reservation.input.allOrNothing !== true || usage === null || output.started) return;
    headers.costMicro = reservation.bill(usage, outputBytes, inference).costMicro;
  }

  private async openStream({ inference, reservation, client, output }: ActiveStream): Promise<OpenedStream<Delivered>> {
    let headTimer: NodeJS.Timeout | undefined;
    try {
      return await this.attempts.openStream(
        reservation,
        client.signal,
        (candidate, call) => inference.openStream(candidate, call),
        () => (headTimer = setTimeout(() => output.startEarly(), HEADERS_AFTER_MS)),
      );
    } finally {
      clearTimeout(headTimer);
    }
  }

  private billFor({ inference, reservation }: ActiveStream, { usage, outputBytes }: Delivered): Bill {
    return reservation.bill(usage, outputBytes, inference);
  }

  private async endComplete(active: ActiveStream, bill: Bill, last: PricedText | null): Promise<void> {
    const { inference, reservation, output, recording } = active;
    try {
      const storeAnswer = recording === null ? null : this.storeCallback(active, recording, last);
      const chargedMicro = await reservation.settle(bill, undefined, storeAnswer);
      this.idempotency.noteDuration(reservation);
      output.finish(last === null ? '' : last.head + chargedMicro + last.tail);
    } catch (error) {
      this.report(error, inference);
      output.fail(asGatewayError(error));
    }
  }

  private storeCallback(
    { inference, reservation, headers }: ActiveStream,
    recording: ResponseRecording,
    last: PricedText | null,
  ): StoreAnswer | null {
    if (last !== null) recording.add(last.head);
    const tail = last === null ? null : last.tail + DONE;
    const { whole, release } = recording.take();
    const contentType = 'contentType' in inference ? inference.contentType : EVENT_STREAM_TYPE;
    const store = this.idempotency.storeCallback(
      reservation,
      { contentType, head: whole, tail },
      { 'x-llm-cost-micro': String(headers.costMicro) },
    );
    // The recorded bytes count against the budget until stored, which an outage can delay beyond the request.
    return store && ((signal) => store(signal).finally(release));
  }

  private async endInterrupted(
    error: unknown,
    active: ActiveStream,
    stream: OpenedStream<Delivered> | null,
  ): Promise<void> {
    const { inference, client, output } = active;
    const failure = asGatewayError(error);
    if (output.started && !client.disconnected) this.report(error, inference);
    const { requestId } = inference.input.context;
    try {
      await this.settleInterrupted(error, active, stream);
    } catch (cause) {
      // Billing still ends the hold; a started stream must end in any case.
      if (!output.started) throw cause;
      this.logger.error({
        event: 'stream_settlement_delayed',
        message: 'an interrupted stream is not settled yet',
        request_id: requestId,
        err: cause,
      });
    }
    if (client.disconnected) {
      output.abandon();
    } else if (output.started) {
      output.fail(failure);
    } else {
      throw failure;
    }
  }

  /** Failures before the start are reported by the attempt series or the error response. */
  private report(error: unknown, { input }: Pick<StreamedInference, 'input'>): void {
    const { requestId, clientRequestId } = input.context;
    const ids = { request_id: requestId, ...traceFieldsOf(input.context) };
    const facts = { ...ids, client_request_id: clientRequestId, model: input.model.id, err: error };
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
    { inference, reservation, client }: ActiveStream,
    stream: OpenedStream<Delivered> | null,
  ): Promise<void> {
    const delivered = stream?.progress.outputBytes ?? 0;
    const ending = endingOf(error, client.disconnected);
    if (stream === null || delivered === 0) return reservation.release(ending);
    // A provider failure is free; work that was aborted by a disconnect is charged.
    if (reservation.input.allOrNothing === true && !client.signal.aborted) return reservation.release(ending);
    // Usage reported before the finish reason is incomplete.
    const reported = stream.progress.finishReason === null ? null : stream.progress.usage;
    await reservation.settle(reservation.bill(reported, delivered, inference), ending);
  }
}

/** Forwards a stream and records it for replays. Pings are not recorded. */
class RecordingSink implements StreamSink {
  constructor(
    private readonly receiver: StreamSink,
    private readonly recording: ResponseRecording,
    private readonly client: TrackedClient,
  ) {}

  write(frames: string | Buffer): boolean {
    this.recording.add(frames);
    if (this.recording.overflowed) this.client.disableRetryGrace();
    return this.receiver.write(frames);
  }

  drained(): Promise<void> {
    return this.receiver.drained();
  }
}
