import type { ChatStream, StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../../contract/provider-error';
import { isJsonObject } from '../../kit/json-object';
import { SseDecoder } from '../../kit/sse-decoder';
import { toStreamFailure } from '../../kit/stream-failure';
import { transportFailure } from '../../kit/transport-error';
import type { ReplyReceiver, UpstreamExchange } from '../../kit/upstream-exchange';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { ChatChunkTranslator } from './chat-chunk-translator';
import { ChatStreamState } from './chat-stream-state';

/** How long to wait after the finish reason for usage and the end, which some upstreams never send. */
const TAIL_LIMIT_MS = 2_000;
/** Events of one stream that may be skipped because they cannot be parsed. */
const MAX_SKIPPED_EVENTS = 1;
/** Buffer limit until the caller calls `pipe`. */
const MAX_WAITING_BYTES = 64 * 1024;

export type StreamTransport = Pick<UpstreamHttp, 'postForStream'>;

/** Translates one upstream event into a frame for the client; `null`: skip it. Throws `ProviderError`. */
export interface EventTranslator {
  translate(event: Buffer): Buffer | null;
}

/** Creates a translator for each stream; the translator updates `state`. */
export type TranslatorFactory = (call: ProviderCall, state: ChatStreamState) => EventTranslator;

const chatChunks: TranslatorFactory = (call, state) => new ChatChunkTranslator(call, state);

interface Settler {
  resolve(): void;
  reject(error: ProviderError): void;
}

/**
 * One streamed completion: receives the upstream's bytes, hands frames to the sink.
 *
 * All frames of one network read are joined into one write, because system calls and the client's parser cost more than
 * the frames. Reading pauses while the sink is full. The first outcome counts; later events (an upstream that fails
 * after its finish reason, for example) change nothing.
 */
export class OpenAiChatStream implements ChatStream, ReplyReceiver {
  readonly progress = new ChatStreamState();
  private readonly decoder: SseDecoder;
  private readonly exchange: UpstreamExchange;
  private opening: Settler | null = null;
  private piping: Settler | null = null;
  private sink: StreamSink | null = null;
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private flushScheduled = false;
  private sinkIsFull = false;
  private replyEnded = false;
  private outcome: 'ended' | ProviderError | null = null;

  private constructor(
    http: StreamTransport,
    endpoint: string,
    body: string,
    call: ProviderCall,
    opening: Settler,
    translatorOf: TranslatorFactory,
  ) {
    this.opening = opening;
    const translator = translatorOf(call, this.progress);
    this.decoder = new SseDecoder((event) => {
      if (!this.replyEnded || isWhole(event)) this.keep(this.translate(translator, event));
    });
    this.exchange = http.postForStream(endpoint, body, call, this);
  }

  /**
   * Resolves once the first event with a choice has been read.
   * @throws ProviderError for every other outcome
   */
  static open(
    http: StreamTransport,
    endpoint: string,
    body: string,
    call: ProviderCall,
    translatorOf = chatChunks,
  ): Promise<OpenAiChatStream> {
    return new Promise((resolve, reject) => {
      const opening = { resolve: () => resolve(stream), reject };
      const stream = new OpenAiChatStream(http, endpoint, body, call, opening, translatorOf);
    });
  }

  pipe(sink: StreamSink): Promise<void> {
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

  private translate(translator: EventTranslator, event: Buffer): Buffer | null {
    try {
      return translator.translate(event);
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

  private keep(frame: Buffer | null): void {
    if (frame === null) return;
    this.waiting.push(frame);
    this.waitingBytes += frame.length;
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
    if (this.outcome === 'ended') this.piping.resolve();
    else this.piping.reject(this.outcome);
    this.piping = null;
  };

  private writeWaiting(sink: StreamSink): boolean {
    const [first] = this.waiting;
    const frames = this.waiting.length === 1 && first !== undefined ? first : Buffer.concat(this.waiting);
    this.waiting = [];
    this.waitingBytes = 0;
    this.progress.outputBytes = this.progress.generatedBytes;
    return sink.write(frames);
  }

  private waitForSink(sink: StreamSink): void {
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
