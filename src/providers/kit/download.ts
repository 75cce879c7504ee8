import { Readable } from 'node:stream';
import type { ProviderError } from '../contract/provider-error';
import type { ReplyReceiver } from './reply-receiver';

/** The exchange that a file is read from. */
interface FileSource {
  enterStream(): void;
  pause(): void;
  resume(): void;
  close(): void;
}

/** A file that is passed on as it arrives, no faster than the caller reads it. */
export class Download extends Readable implements ReplyReceiver {
  private exchange: FileSource | null = null;
  private isOpen = false;

  private constructor(private readonly opening: { resolve(file: Readable): void; reject(error: ProviderError): void }) {
    super();
  }

  /**
   * Resolves with the first bytes.
   * @param send starts the exchange
   * @throws ProviderError for every other outcome
   */
  static openFile(send: (receiver: ReplyReceiver) => FileSource): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const file = new Download({ resolve, reject });
      file.exchange = send(file);
    });
  }

  onData(chunk: Buffer): void {
    this.begin();
    if (!this.push(chunk)) this.exchange?.pause();
  }

  onEnd(): void {
    this.begin();
    this.push(null);
  }

  onFailure(error: ProviderError): void {
    if (this.isOpen) this.destroy(error);
    else this.opening.reject(error);
  }

  override _read(): void {
    this.exchange?.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.exchange?.close();
    callback(error);
  }

  private begin(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.exchange?.enterStream();
    this.opening.resolve(this);
  }
}
