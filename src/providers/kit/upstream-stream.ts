import type { StreamProgress, StreamSink, StreamedAnswer } from '../contract/chat';
import type { FinishReason } from '../contract/chat-event';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';
import type { UsageVector } from '../contract/usage';
import { isJsonObject } from './json';
import { SseDecoder } from './sse';
import { toStreamFailure, transportFailure } from './upstream-errors';
import type { ReplyReceiver, UpstreamExchange, UpstreamHttp } from './upstream-http';

/** How long to wait after the finish reason for usage and the end, which some upstreams never send. */
const TAIL_LIMIT_MS = 2_000;
/** Events of one stream that may be skipped because they cannot be parsed. */
const MAX_SKIPPED_EVENTS = 1;
/** Buffer limit until the caller calls `pipe`. */
const MAX_WAITING_BYTES = 64 * 1024;

export type StreamTransport = Pick<UpstreamHttp, 'postForStream'>;

/** The state of a stream, updated by its translator; the caller reads it as `progress`. */
export class ChatStreamState implements StreamProgress {
  /** Fixed by the first chunk that is forwarded. */
  id = '';
  created = 0;
  /** Bytes of text in chunks that the sink has received. */
  outputBytes = 0;
  usage: UsageVector | null = null;
  finishReason: FinishReason | null = null;
  skippedEvents = 0;

  /** Usage has been read after the finish reason; earlier usage may be a running count. */
  usageIsFinal = false;
  /** Bytes of text in all chunks, including buffered ones. */
  generatedBytes = 0;
  /** An event with a choice has been read. */
  started = false;
  /** A tool call has begun. */
  callsTools = false;
  /** `[DONE]` has been read. */
  done = false;

  /** Whether the caller has everything it needs. */
  get complete(): boolean {
    return this.done || this.usageIsFinal;
  }
}

/** Translates one upstream event to what the sink receives; `null`: skip it. Throws `ProviderError`. */
export interface EventTranslator<Output> {
  translate(event: Buffer): Output | null;
  /** Awaited before the end of a complete answer, for example to store its reasoning. Never rejects. */
  finish?(): Promise<void>;
}

/** What the sink of a stream receives: chunks of a wire format, or typed events. */
export interface StreamOutput<Output> {
  /** Called once for each stream. */
  translatorFor(call: ProviderCall, state: ChatStreamState): EventTranslator<Output>;
  /** Joins the outputs of one network read; never of an empty list. */
  join(outputs: readonly Output[]): Output;
}

/** The request that an upstream answers with a stream. */
export interface StreamRequest {
  readonly http: StreamTransport;
  readonly endpoint: string;
  /** JSON. */
  readonly body: string;
  readonly call: ProviderCall;
}

interface Settler {
  resolve(): void;
  reject(error: ProviderError): void;
}

/**
 * One streamed answer as server-sent events: receives the upstream's bytes, hands the translated events to the sink.
 *
 * All outputs of one network read are joined into one write, because system calls and the client's parser cost more than
 * joining. Reading pauses while the sink is full. The first outcome counts; later events (an upstream that fails after
 * its finish reason, for example) change nothing. A stream without a finish reason never ends normally.
 */
export class UpstreamStream<Output> implements StreamedAnswer<Output>, ReplyReceiver {
  readonly progress = new ChatStreamState();
  private readonly translator: EventTranslator<Output>;
  private readonly decoder: SseDecoder;
  private readonly exchange: UpstreamExchange;
  private opening: Settler | null = null;
  private piping: Settler | null = null;
  private sink: StreamSink<Output> | null = null;
  private waiting: Output[] = [];
  /** Bytes of the upstream's events whose outputs are waiting. */
  private waitingBytes = 0;
  private flushScheduled = false;
  private sinkIsFull = false;
  private replyEnded = false;
  private outcome: 'ended' | ProviderError | null = null;

  private constructor(
    { http, endpoint, body, call }: StreamRequest,
    private readonly output: StreamOutput<Output>,
    opening: Settler,
  ) {
    this.opening = opening;
    this.translator = output.translatorFor(call, this.progress);
    this.decoder = new SseDecoder((event) => {
      if (!this.replyEnded || isWhole(event)) this.keep(this.translate(event), event.length);
    });
    this.exchange = http.postForStream(endpoint, body, call, this);
  }

  /**
   * Resolves once the first event with a choice has been read.
   * @throws ProviderError for every other outcome
   */
  static open<Output>(request: StreamRequest, output: StreamOutput<Output>): Promise<UpstreamStream<Output>> {
    return new Promise((resolve, reject) => {
      const opening = { resolve: () => resolve(stream), reject };
      const stream = new UpstreamStream(request, output, opening);
    });
  }

  pipe(sink: StreamSink<Output>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.piping = { resolve, reject };
      this.sink = sink;
      if (this.waitingBytes > MAX_WAITING_BYTES) this.resumeReading();
      this.flush();
    });
  }

  onData(chunk: Buffer): void {
    const finished = this.progress.finishReason !== null;
    if (this.decoder.push(chunk) && !finished) this.exchange.touch();
    const { progress } = this;
    if (this.opening !== null && progress.started) {
      this.exchange.enterStream();
      this.opening.resolve();
      this.opening = null;
    }
    if (progress.finishReason !== null && (!finished || progress.complete)) this.enterTail();
    else if (progress.done) this.endWithoutReason();
    this.scheduleFlush();
  }

  onEnd(): void {
    this.replyEnded = true;
    try {
      this.decoder.end();
      this.settle(this.endOfStream());
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure(this.phase, error));
    }
  }

  onFailure(error: ProviderError): void {
    this.settle(this.progress.finishReason === null ? error : 'ended');
  }

  /** The text is complete. The rest of the reply is read for its usage and to keep the connection reusable. */
  private enterTail(): void {
    if (this.outcome !== null) return;
    this.exchange.expectEndWithin(TAIL_LIMIT_MS);
    if (this.progress.complete) this.settle('ended');
  }

  private endWithoutReason(): void {
    this.exchange.expectEndWithin(TAIL_LIMIT_MS);
    this.settle(this.endOfStream());
  }

  private endOfStream(): 'ended' | ProviderError {
    if (this.progress.finishReason !== null) return 'ended';
    return new ProviderError('provider_disconnect', 'The provider ended the stream before the response was complete.', {
      phase: this.phase,
      fallback: this.opening !== null,
    });
  }

  private get phase(): ProviderPhase {
    return this.opening === null ? 'stream' : 'first_token';
  }

  private settle(outcome: 'ended' | ProviderError): void {
    if (this.outcome !== null) return;
    if (this.opening !== null && outcome !== 'ended') {
      this.outcome = outcome;
      this.opening.reject(outcome);
      this.opening = null;
      return;
    }
    this.outcome = outcome === 'ended' ? outcome : toStreamFailure(outcome);
    this.opening?.resolve();
    this.opening = null;
    this.flush();
  }

  private translate(event: Buffer): Output | null {
    try {
      return this.translator.translate(event);
    } catch (error) {
      if (isChunk(event) || !this.maySkip) throw error;
      this.progress.skippedEvents++;
      return null;
    }
  }

  /**
   * No skipping before the first token, where failover loses nothing, or within tool calls, since a client must not run
   * a call with incomplete arguments. A skipped finish reason leaves the stream without one, so it still ends as
   * interrupted.
   */
  private get maySkip(): boolean {
    const { started, callsTools, skippedEvents } = this.progress;
    return started && !callsTools && skippedEvents < MAX_SKIPPED_EVENTS;
  }

  private keep(output: Output | null, eventBytes: number): void {
    if (output === null) return;
    this.waiting.push(output);
    this.waitingBytes += eventBytes;
    if (this.sink === null && this.waitingBytes > MAX_WAITING_BYTES) this.exchange.pause();
  }

  /**
   * After the current read: undici delivers each piece of a chunked body separately, all in one iteration of the event
   * loop.
   */
  private scheduleFlush(): void {
    if (this.flushScheduled || this.sink === null) return;
    this.flushScheduled = true;
    queueMicrotask(this.flush);
  }

  private readonly flush = (): void => {
    this.flushScheduled = false;
    if (this.sink === null || this.sinkIsFull) return;
    if (this.waiting.length > 0 && !this.writeWaiting(this.sink)) {
      this.waitForSink(this.sink);
      return;
    }
    if (this.outcome === null || this.piping === null) return;
    const { outcome, piping } = this;
    this.piping = null;
    if (outcome !== 'ended') piping.reject(outcome);
    else if (this.translator.finish === undefined) piping.resolve();
    else void this.translator.finish().then(piping.resolve);
  };

  private writeWaiting(sink: StreamSink<Output>): boolean {
    const [first] = this.waiting;
    const output = this.waiting.length === 1 && first !== undefined ? first : this.output.join(this.waiting);
    this.waiting = [];
    this.waitingBytes = 0;
    this.progress.outputBytes = this.progress.generatedBytes;
    return sink.write(output);
  }

  private waitForSink(sink: StreamSink<Output>): void {
    this.sinkIsFull = true;
    if (this.outcome === null) this.exchange.pause();
    void sink.drained().then(() => {
      this.sinkIsFull = false;
      this.resumeReading();
      this.flush();
    });
  }

  private resumeReading(): void {
    if (this.outcome !== null) return;
    this.exchange.resume();
    if (this.progress.finishReason !== null) this.exchange.expectEndWithin(TAIL_LIMIT_MS);
  }
}

/**
 * Whether an event without a line ending is complete, that is, can be parsed. Otherwise it was cut off, and the missing
 * finish reason decides the outcome.
 */
function isWhole(event: Buffer): boolean {
  return parse(event) !== undefined;
}

/** Whether an event is valid JSON, so that a failure to translate it is about its content. */
function isChunk(event: Buffer): boolean {
  return isJsonObject(parse(event));
}

function parse(event: Buffer): unknown {
  try {
    return JSON.parse(event.toString('utf8'));
  } catch {
    return undefined;
  }
}
