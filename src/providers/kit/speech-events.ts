import type { StreamSink } from '../contract/chat';
import { ProviderError } from '../contract/provider-error';
import type { SpeechStream } from '../contract/speech';
import type { UsageVector } from '../contract/usage';
import { type JsonObject, parseJsonObject } from './json';
import type { ReplyReceiver } from './reply-receiver';
import { SseDecoder } from './sse';
import { transportFailure } from './upstream-errors';
import type { UpstreamExchange } from './upstream-http';
import { type Settler, StreamRelay } from './upstream-stream';

/** Some models send all of their audio in one event. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;

/** Where the vendor's events are written. */
export interface SpeechOutput {
  /** For errors: whether audio has been passed on. */
  readonly phase: 'first_token' | 'stream';
  write(audio: Buffer): void;
  report(usage: UsageVector): void;
  /** The error for events that deviate from the vendor's documentation. @param what completes "The provider sent …" */
  failure(what: string): ProviderError;
}

/** Reads the events of one reply. Throws `ProviderError` only. */
export interface SpeechEventReader {
  read(event: JsonObject, output: SpeechOutput): void;
  /** Called after the last event. @returns whether the reply was complete */
  conclude(output: SpeechOutput): boolean;
}

/** Speech that arrives as server-sent events with pieces of audio, passed on as it arrives. */
export class SpeechEvents implements SpeechStream, SpeechOutput, ReplyReceiver {
  readonly progress: { audioBytes: number; usage: UsageVector | null } = { audioBytes: 0, usage: null };
  private readonly relay: StreamRelay<Buffer>;
  private readonly decoder = new SseDecoder((event) => this.read(event), MAX_EVENT_BYTES);
  private exchange: UpstreamExchange | null = null;

  private constructor(
    private readonly reader: SpeechEventReader,
    opening: Settler,
  ) {
    this.relay = new StreamRelay<Buffer>(opening, Buffer.concat, (bytes) => (this.progress.audioBytes += bytes));
  }

  /**
   * Resolves with the first audio.
   * @param send starts the exchange
   * @throws ProviderError for every other outcome
   */
  static openStream(
    reader: SpeechEventReader,
    send: (receiver: ReplyReceiver) => UpstreamExchange,
  ): Promise<SpeechStream> {
    return new Promise((resolve, reject) => {
      const stream = new SpeechEvents(reader, { resolve: () => resolve(stream), reject });
      stream.exchange = send(stream);
      stream.relay.readFrom(stream.exchange);
    });
  }

  get phase(): 'first_token' | 'stream' {
    return this.relay.phase === 'stream' ? 'stream' : 'first_token';
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.relay.pipe(sink);
  }

  onData(chunk: Buffer): void {
    if (this.decoder.push(chunk)) this.exchange?.touch();
  }

  onEnd(): void {
    try {
      this.decoder.end();
      this.conclude();
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure(this.phase, error));
    }
  }

  onFailure(error: ProviderError): void {
    this.relay.fail(error);
  }

  write(audio: Buffer): void {
    this.relay.enterStream();
    this.relay.push(audio, audio.length);
  }

  report(usage: UsageVector): void {
    this.progress.usage = usage;
  }

  failure(what: string): ProviderError {
    const { phase } = this;
    return new ProviderError('provider_error', `The provider sent ${what}.`, { phase, fallback: phase !== 'stream' });
  }

  private read(data: Buffer): void {
    const event = parseJsonObject(data);
    if (event === null) throw this.failure('an event that is not JSON');
    this.reader.read(event, this);
  }

  private conclude(): void {
    const { phase } = this;
    if (!this.reader.conclude(this)) {
      const message = 'The provider ended the stream before the speech was complete.';
      throw new ProviderError('provider_disconnect', message, { phase, fallback: phase !== 'stream' });
    }
    if (phase !== 'stream') throw this.failure('no audio');
    this.relay.end();
  }
}
