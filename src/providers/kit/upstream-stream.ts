import type { StreamProgress, StreamSink, StreamedAnswer } from '../contract/chat';
import type { FinishReason } from '../contract/chat-event';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';
import type { UsageVector } from '../contract/usage';
import { isJsonObject } from './json';
import { SseDecoder } from './sse';
import { toStreamFailure, transportFailure } from './upstream-errors';
import type { ReplyReceiver } from './reply-receiver';
import type { UpstreamExchange, UpstreamHttp } from './upstream-http';

/** How long to wait for usage and the end after the finish reason; some upstreams never send them. */
const TAIL_LIMIT_MS = 2_000;
/** How many unparsable events of one stream may be skipped. */
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
  /** Bytes of text in all chunks, including those still buffered. */
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
  /** Awaited before a complete answer ends, for example to store its reasoning. Never rejects. */
  finish?(): Promise<void>;
}

/** What the sink of a stream receives: chunks of a wire format, or typed events. */
export interface StreamOutput<Output> {
  /** Called once for each stream. */
  translatorFor(call: ProviderCall, state: ChatStreamState): EventTranslator<Output>;
  /** Joins the outputs of one network read. The list is never empty. */
  join(outputs: readonly Output[]): Output;
  /** Default: 1 MiB. */
  readonly maxEventBytes?: number;
}

/** The request that an upstream answers with a stream. */
export interface StreamRequest {
  readonly http: StreamTransport;
  readonly endpoint: string;
  /** JSON. */
  readonly body: string;
  readonly call: ProviderCall;
}

/** The resolve and reject functions of a pending promise. */
export interface Settler {
  resolve(): void;
  reject(error: ProviderError): void;
}

/**
 * Relays a streamed reply from its exchange to a sink: opening, back-pressure and outcome. All outputs of one network
 * read are joined into one write, because system calls and the client's parser cost more than joining. Reading pauses
 * while the sink is full. The first outcome counts; later events change nothing.
 */
export class StreamRelay<Output> {
  private opening: Settler | null;
  private piping: { resolve(): void; reject(error: unknown): void } | null = null;
  private exchange: UpstreamExchange | null = null;
  private sink: StreamSink<Output> | null = null;
  private waiting: Output[] = [];
  private waitingBytes = 0;
  private flushScheduled = false;
  private sinkIsFull = false;
  private outcome: 'ended' | 'abandoned' | ProviderError | null = null;

  /**
   * @param join never receives an empty list
   * @param onWritten receives the bytes of the outputs handed to the sink
   */
  constructor(
    opening: Settler,
    private readonly join: (outputs: readonly Output[]) => Output,
    private readonly onWritten: (bytes: number) => void,
  ) {
    this.opening = opening;
  }

  /** The phase to report for a failure that happens now. */
  get phase(): ProviderPhase {
    return this.opening === null ? 'stream' : 'first_token';
  }

  /** Whether the reply has ended or failed for the caller; further pushes have no effect. */
  get settled(): boolean {
    return this.outcome !== null;
  }

  /** The exchange whose reply this is. */
  readFrom(exchange: UpstreamExchange): void {
    this.exchange = exchange;
  }

  /** The answer has begun: settles the opening. */
  enterStream(): void {
    if (this.opening === null) return;
    this.exchange?.enterStream();
    this.opening.resolve();
    this.opening = null;
  }

  /** @param bytes how much of the buffer limit the output uses */
  push(output: Output, bytes: number): void {
    if (this.outcome !== null) return;
    this.waiting.push(output);
    this.waitingBytes += bytes;
    if (this.sink === null) {
      if (this.waitingBytes > MAX_WAITING_BYTES) this.exchange?.pause();
    } else if (!this.flushScheduled) {
      // Flush after the current read: undici delivers each piece of a chunked body separately, all in one iteration of
      // the event loop.
      this.flushScheduled = true;
      queueMicrotask(this.flush);
    }
  }

  /** No more outputs follow. */
  end(): void {
    if (this.outcome !== null) return;
    this.outcome = 'ended';
    this.enterStream();
    this.flush();
  }

  /** Fails the reply after delivering pending outputs. */
  fail(error: ProviderError): void {
    if (this.outcome !== null) return;
    if (this.opening !== null) {
      this.outcome = error;
      this.opening.reject(error);
      this.opening = null;
      return;
    }
    this.outcome = toStreamFailure(error);
    this.flush();
  }

  /** @throws ProviderError when the reply fails, or the sink's error when the sink cannot continue */
  pipe(sink: StreamSink<Output>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.piping = { resolve, reject };
      this.sink = sink;
      if (this.waitingBytes > MAX_WAITING_BYTES) this.resume();
      this.flush();
    });
  }

  /** Runs outside any promise: an error that a sink throws must end its own stream, not the process. */
  private readonly flush = (): void => {
    try {
      this.deliver();
    } catch (error) {
      this.abandon(error);
    }
  };

  private deliver(): void {
    this.flushScheduled = false;
    if (this.sink === null || this.sinkIsFull) return;
    if (this.waiting.length > 0 && !this.writeWaiting(this.sink)) {
      this.waitFor(this.sink);
      return;
    }
    if (this.outcome === null || this.piping === null) return;
    if (this.outcome === 'ended') this.piping.resolve();
    else this.piping.reject(this.outcome);
    this.piping = null;
  }

  private writeWaiting(sink: StreamSink<Output>): boolean {
    const [first] = this.waiting;
    const output = this.waiting.length === 1 && first !== undefined ? first : this.join(this.waiting);
    const bytes = this.waitingBytes;
    this.waiting = [];
    this.waitingBytes = 0;
    this.onWritten(bytes);
    return sink.write(output);
  }

  private waitFor(sink: StreamSink<Output>): void {
    this.sinkIsFull = true;
    if (this.outcome === null) this.exchange?.pause();
    sink.drained().then(
      () => {
        this.sinkIsFull = false;
        this.resume();
        this.flush();
      },
      (error: unknown) => this.abandon(error),
    );
  }

  /** The sink takes nothing more, so the rest of the reply is not read. */
  private abandon(error: unknown): void {
    this.outcome = 'abandoned';
    this.waiting = [];
    this.exchange?.close();
    this.piping?.reject(error);
    this.piping = null;
  }

  private resume(): void {
    if (this.outcome === null) this.exchange?.resume();
  }
}

/** One streamed answer as server-sent events: translates the upstream's events and relays the outputs to the sink. */
export class UpstreamStream<Output> implements StreamedAnswer<Output>, ReplyReceiver {
  readonly progress = new ChatStreamState();
  private readonly relay: StreamRelay<Output>;
  private readonly decoder: SseDecoder;
  private readonly translator: EventTranslator<Output>;
  private readonly exchange: UpstreamExchange;
  private replyEnded = false;

  private constructor({ http, endpoint, body, call }: StreamRequest, output: StreamOutput<Output>, opening: Settler) {
    const { progress } = this;
    this.translator = output.translatorFor(call, progress);
    const join = (outputs: readonly Output[]): Output => output.join(outputs);
    this.relay = new StreamRelay(opening, join, () => (progress.outputBytes = progress.generatedBytes));
    this.decoder = new SseDecoder((event) => {
      if (!this.replyEnded || isWhole(event)) this.relayEvent(event);
    }, output.maxEventBytes);
    this.exchange = http.postForStream(endpoint, body, call, this);
    this.relay.readFrom(this.exchange);
  }

  /**
   * Resolves once the first event with a choice has been read.
   * @throws ProviderError for every other outcome
   */
  static openStream<Output>(request: StreamRequest, output: StreamOutput<Output>): Promise<UpstreamStream<Output>> {
    return new Promise((resolve, reject) => {
      const opening = { resolve: () => resolve(stream), reject };
      const stream = new UpstreamStream(request, output, opening);
    });
  }

  /** Fails if the stream ends without a finish reason. */
  async pipe(sink: StreamSink<Output>): Promise<void> {
    await this.relay.pipe(sink);
    await this.translator.finish?.();
  }

  onData(chunk: Buffer): void {
    const { progress, relay } = this;
    const finished = progress.finishReason !== null;
    if (this.decoder.push(chunk) && !finished) this.exchange.touch();
    if (relay.settled) return;
    if (progress.started) relay.enterStream();
    if (!progress.complete && (finished || progress.finishReason === null)) return;
    // The text is complete. The rest of the reply is read for its usage and to keep the connection reusable.
    this.exchange.expectEndWithin(TAIL_LIMIT_MS);
    if (progress.complete) this.end();
  }

  onEnd(): void {
    this.replyEnded = true;
    try {
      this.decoder.end();
      this.end();
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure(this.relay.phase, error));
    }
  }

  /** After the finish reason, a failure of the upstream changes nothing. */
  onFailure(error: ProviderError): void {
    if (this.progress.finishReason === null) this.relay.fail(error);
    else this.relay.end();
  }

  private end(): void {
    const { phase } = this.relay;
    // The error is created only when it is needed: its stack costs more than several events.
    if (this.progress.finishReason !== null) return this.relay.end();
    this.relay.fail(
      new ProviderError('provider_disconnect', 'The provider ended the stream before the response was complete.', {
        phase,
        fallback: phase === 'first_token',
      }),
    );
  }

  private relayEvent(event: Buffer): void {
    const output = this.translate(event);
    if (output !== null) this.relay.push(output, event.length);
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
   * Events are not skipped before the first token, where failover loses nothing, or within tool calls, since a client
   * must not run a call with incomplete arguments. If the finish reason is skipped, the stream ends as interrupted.
   */
  private get maySkip(): boolean {
    const { started, callsTools, skippedEvents } = this.progress;
    return started && !callsTools && skippedEvents < MAX_SKIPPED_EVENTS;
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
