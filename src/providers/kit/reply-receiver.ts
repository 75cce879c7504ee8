import { ProviderError, REPLY_TOO_LONG } from '../contract/provider-error';
import type { UpstreamHeaders } from './upstream-errors';

const MAX_WHOLE_REPLY_BYTES = 32 * 1024 * 1024;

/**
 * Receives the body of a successful reply. An exception from `onData` ends the exchange and is passed to `onFailure`.
 * Exactly one of `onEnd` and `onFailure` is called, unless the receiver closes the exchange itself.
 */
export interface ReplyReceiver {
  /** The headers of a successful reply, before its body. */
  onHeaders?(headers: UpstreamHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(error: ProviderError): void;
}

/** Collects a reply into one buffer, and aborts one that is too long. */
export class WholeReply implements ReplyReceiver {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly resolve: (body: Buffer) => void,
    readonly onFailure: (error: ProviderError) => void,
  ) {}

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > MAX_WHOLE_REPLY_BYTES) {
      throw new ProviderError('provider_error', 'The provider sent a response longer than 32 MiB.', {
        phase: 'first_token',
        fallback: true,
        upstream: { code: REPLY_TOO_LONG },
      });
    }
    this.chunks.push(chunk);
  }

  onEnd(): void {
    const [first] = this.chunks;
    this.resolve(this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks));
  }
}
