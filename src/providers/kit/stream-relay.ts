import type { StreamSink } from '../contract/chat';
import type { ProviderError, ProviderPhase } from '../contract/provider-error';
import { toStreamFailure } from './upstream-errors';
import type { UpstreamExchange } from './upstream-http';

/** Buffer limit until the caller calls `pipe`. */
const MAX_WAITING_BYTES = 64 * 1024;

/** The resolve and reject functions of a pending promise. */
export interface Settler {
  resolve(): void;
  reject(error: ProviderError): void;
}

type Reading = Pick<UpstreamExchange, 'enterStream' | 'pause' | 'resume'>;

/**
 * Relays a streamed reply from its exchange to a sink. The first piece settles the `opening`. All pieces of one network
 * read are joined into one write, because a system call costs more than joining them; reading pauses while the sink is
 * full. The first outcome counts; later events change nothing.
 */
export class StreamRelay {
  private opening: Settler | null;
  private piping: Settler | null = null;
  private reading: Reading | null = null;
  private sink: StreamSink | null = null;
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private flushScheduled = false;
  private sinkIsFull = false;
  private outcome: 'ended' | ProviderError | null = null;

  /** @param onWritten receives the number of bytes handed to the sink */
  constructor(
    opening: Settler,
    private readonly onWritten: (bytes: number) => void,
  ) {
    this.opening = opening;
  }

  /** The phase of a failure that happens now. */
  get phase(): ProviderPhase {
    return this.opening === null ? 'stream' : 'first_token';
  }

  /** The exchange whose reply this is. */
  readFrom(reading: Reading): void {
    this.reading = reading;
  }

  push(piece: Buffer): void {
    if (this.outcome !== null) return;
    this.open();
    this.waiting.push(piece);
    this.waitingBytes += piece.length;
    if (this.sink === null) {
      if (this.waitingBytes > MAX_WAITING_BYTES) this.reading?.pause();
    } else if (!this.flushScheduled) {
      // After the current read: undici delivers each piece of a chunked body separately, all in one iteration of the
      // event loop.
      this.flushScheduled = true;
      queueMicrotask(this.flush);
    }
  }

  /** No more pieces follow. */
  end(): void {
    if (this.outcome !== null) return;
    this.outcome = 'ended';
    this.open();
    this.flush();
  }

  /** Delivers pending pieces first. */
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

  /** @throws ProviderError when the reply fails */
  pipe(sink: StreamSink): Promise<void> {
    return new Promise((resolve, reject) => {
      this.piping = { resolve, reject };
      this.sink = sink;
      if (this.waitingBytes > MAX_WAITING_BYTES) this.resume();
      this.flush();
    });
  }

  private open(): void {
    if (this.opening === null) return;
    this.reading?.enterStream();
    this.opening.resolve();
    this.opening = null;
  }

  private readonly flush = (): void => {
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
  };

  private writeWaiting(sink: StreamSink): boolean {
    const [first] = this.waiting;
    const bytes = this.waiting.length === 1 && first !== undefined ? first : Buffer.concat(this.waiting);
    this.waiting = [];
    this.waitingBytes = 0;
    this.onWritten(bytes.length);
    return sink.write(bytes);
  }

  private waitFor(sink: StreamSink): void {
    this.sinkIsFull = true;
    if (this.outcome === null) this.reading?.pause();
    void sink.drained().then(() => {
      this.sinkIsFull = false;
      this.resume();
      this.flush();
    });
  }

  private resume(): void {
    if (this.outcome === null) this.reading?.resume();
  }
}
