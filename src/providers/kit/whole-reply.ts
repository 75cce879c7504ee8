import { ProviderError, REPLY_TOO_LONG } from '../contract/provider-error';
import type { ReplyReceiver } from './reply-receiver';

const MAX_WHOLE_REPLY_BYTES = 32 * 1024 * 1024;

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
