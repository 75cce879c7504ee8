import type { Readable } from 'node:stream';
import type { ImageContentType } from '../types/image-format';
import type { ByteBudget } from './byte-budget';

export interface FetchedImage {
  readonly bytes: Buffer;
  /** Detected from the bytes. */
  readonly contentType: ImageContentType;
}

export interface ArtifactLimits {
  readonly maxBytes: number;
  /** Time limit from the lookup to the last byte. */
  readonly timeoutMs: number;
}

/** The credential that a host requires to serve a file of ours. */
export interface DownloadCredential {
  /** Host names in lower case, with the port unless it is 443. No other host gets the headers. */
  readonly hosts: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

export interface FetchedArtifact {
  /** Fails with an `OutboundError` when the connection breaks or a limit is exceeded. */
  readonly body: Readable;
  /** Declared by the host, not trusted. */
  readonly contentType: string;
}

export interface WebhookAnswer {
  /** Redirects are not followed: every status except 2xx is a failure. */
  readonly status: number;
  /** 1 to 3600; `null` without a usable `Retry-After`. */
  readonly retryAfterSeconds: number | null;
}

/**
 * The only client for URLs from users and providers (README of this folder). Every call checks the host, resolves it,
 * connects only to an address checked in this call, and checks the peer.
 */
export abstract class OutboundClient {
  /**
   * Checks a URL without a lookup.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`.
   */
  abstract assertPublicUrl(url: string, param: string): void;

  /**
   * Checks a URL with a lookup of its host. A name that does not resolve passes, because nothing is fetched now.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`.
   */
  abstract assertPublicHost(url: string, param: string): Promise<void>;

  /**
   * Checks a URL that an upstream fetches next, with a lookup: a name that does not resolve is refused.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`.
   */
  abstract assertFetchable(url: string, param: string): Promise<void>;

  /**
   * Fetches an image: at most 20 MiB within 10 s, over at most 3 redirects, with its type detected from its bytes.
   * @param budget the shared limit of all images of one request; the 20 MiB per image apply too.
   * @throws GatewayError `ssrf_blocked`; `validation_failed` for all other failures.
   */
  abstract fetchImage(url: string, param: string, signal: AbortSignal, budget?: ByteBudget): Promise<FetchedImage>;

  /**
   * Streams a provider artifact of at most `maxBytes`, over at most 3 redirects.
   * @param credential sent to its hosts only, and never after a redirect to another host
   * @throws OutboundError
   */
  abstract fetchArtifact(
    url: string,
    limits: ArtifactLimits,
    signal: AbortSignal,
    credential?: DownloadCredential | null,
  ): Promise<FetchedArtifact>;

  /**
   * One attempt at a webhook, within 15 s.
   * @throws OutboundError without a response: `blocked` and `malformed` are permanent, `failed` may be transient.
   */
  abstract postWebhook(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<WebhookAnswer>;
}
