import type { ProviderError } from '../contract/provider-error';
import type { UpstreamHeaders } from './upstream-errors';

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
