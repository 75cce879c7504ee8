import type { Readable } from 'node:stream';
import type { ImageContentType } from '../common/image-format';
import type { ByteBudget } from './byte-budget';

export interface FetchedImage {
  readonly bytes: Buffer;
  /** What the bytes say. */
  readonly contentType: ImageContentType;
}

export interface ArtifactLimits {
  readonly maxBytes: number;
  /** From the look-up to the last byte. */
  readonly timeoutMs: number;
}

export interface FetchedArtifact {
  /** Ends with an `OutboundError` when it breaks off, or passes a limit. */
  readonly body: Readable;
  /** As the host says it; nothing is decided by that. */
  readonly contentType: string;
}

export interface WebhookAnswer {
  /** Redirects are not followed: whatever is not 2xx is a failure. */
  readonly status: number;
  /** 1 to 3600; `null` without a usable `Retry-After`. */
  readonly retryAfterSeconds: number | null;
}

/**
 * The only client for addresses that a user supplies or a provider returns (README of this folder). Every call judges the
 * host by its numbers, resolves it, connects to an address that was judged in this very call, and looks again after.
 */
export abstract class OutboundClient {
  /**
   * What can be told of an address without a look-up.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`.
   */
  abstract assertPublicUrl(url: string, param: string): void;

  /**
   * The same with a look-up of its name. A name that does not resolve passes: nothing is fetched now (decision *webhook-dns*).
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`.
   */
  abstract assertPublicHost(url: string, param: string): Promise<void>;

  /**
   * An image that a client refers to: at most 20 MiB within 10 s, over at most 3 redirects, of a type that its bytes show.
   * @param budget what all images of one request may take together; each of them at most 20 MiB all the same.
   * @throws GatewayError `ssrf_blocked`; `validation_failed` for whatever else keeps it from being fetched.
   */
  abstract fetchImage(url: string, param: string, signal: AbortSignal, budget?: ByteBudget): Promise<FetchedImage>;

  /**
   * What a provider says it has made, as a stream of at most `maxBytes`, over at most 3 redirects.
   * @throws OutboundError
   */
  abstract fetchArtifact(url: string, limits: ArtifactLimits, signal: AbortSignal): Promise<FetchedArtifact>;

  /**
   * One attempt at a webhook, within 15 s.
   * @throws OutboundError when there is no answer: `blocked` and `malformed` will not get better, `failed` may.
   */
  abstract postWebhook(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<WebhookAnswer>;
}
