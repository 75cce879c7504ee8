import { Logger } from '@nestjs/common';
import { type Clock, systemClock } from '../time/clock';
import { sniffImageType } from '../types/image-format';
import { parseRetryAfter } from '../types/retry-after';
import { AddressPolicy, type AddressRules, type AddressVerdict } from './address-policy';
import { ByteBudget } from './byte-budget';
import { cappedBody } from './capped-body';
import type { ConnectorOptions } from './guarded-connector';
import { exchange, type OutboundRequest, type OutboundResponse } from './guarded-exchange';
import {
  type ArtifactLimits,
  type DownloadCredential,
  type FetchedArtifact,
  type FetchedImage,
  OutboundClient,
  type WebhookAnswer,
} from './outbound-client';
import { OutboundError } from './outbound-error';
import { lookUpPublic, type PinnedAddress, type Resolve, resolveByDns } from './public-lookup';
import { literalOf, UrlRules } from './url-rules';

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HTTPS = /^https:\/\//;
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//;
/** Only the status of a webhook receiver matters; this much of its body is read for a clean close. */
const MAX_WEBHOOK_ANSWER_BYTES = 4 * 1024;

export interface OutboundLimits {
  readonly lookupMs: number;
  readonly connectMs: number;
  /** Total time for an image or a webhook, redirects included. */
  readonly imageMs: number;
  readonly webhookMs: number;
  readonly imageBytes: number;
}

const LIMITS: OutboundLimits = {
  lookupMs: 2_000,
  connectMs: 5_000,
  imageMs: 10_000,
  webhookMs: 15_000,
  imageBytes: 20 * 1024 * 1024,
};

export interface OutboundOptions extends AddressRules {
  /** Refused host names, including subdomains; in lower case. */
  readonly denyHosts: readonly string[];
  readonly clock?: Clock;
  /** Default: DNS. */
  readonly resolve?: Resolve;
  readonly limits?: Partial<OutboundLimits>;
}

/** The guarded client: every URL and every redirect passes the same rules, lookup and connector. */
export class GuardedClient extends OutboundClient {
  private readonly logger = new Logger('Outbound');
  private readonly policy: AddressPolicy;
  private readonly rules: UrlRules;
  private readonly resolve: Resolve;
  private readonly clock: Clock;
  private readonly limits: OutboundLimits;
  private readonly connector: ConnectorOptions;

  constructor(options: OutboundOptions) {
    super();
    this.policy = new AddressPolicy(options);
    this.rules = new UrlRules(this.policy, options.denyHosts);
    this.resolve = options.resolve ?? resolveByDns;
    this.clock = options.clock ?? systemClock;
    this.limits = { ...LIMITS, ...options.limits };
    this.connector = {
      policy: this.policy,
      connectTimeoutMs: this.limits.connectMs,
      onConnected: (peer, verdict) => this.noteConnection(peer, verdict),
    };
  }

  assertPublicUrl(url: string, param: string): void {
    try {
      this.rules.parse(url);
    } catch (error) {
      throw toClientError(error, param);
    }
  }

  async assertPublicHost(url: string, param: string): Promise<void> {
    try {
      await this.lookUp(url);
    } catch (error) {
      if (error instanceof OutboundError && error.fault === 'failed') return;
      throw toClientError(error, param);
    }
  }

  async assertFetchable(url: string, param: string): Promise<void> {
    try {
      await this.lookUp(url);
    } catch (error) {
      throw toClientError(error, param);
    }
  }

  async fetchImage(url: string, param: string, signal: AbortSignal, budget?: ByteBudget): Promise<FetchedImage> {
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(this.limits.imageMs)]);
      const response = await this.get(url, 'image/*', within);
      return await this.readImage(response, budget ?? new ByteBudget(this.limits.imageBytes));
    } catch (error) {
      throw toClientError(error, param);
    }
  }

  async fetchArtifact(
    url: string,
    limits: ArtifactLimits,
    signal: AbortSignal,
    credential: DownloadCredential | null = null,
  ): Promise<FetchedArtifact> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]);
    const response = await this.get(url, '*/*', within, credential);
    const contentType = String(response.headers['content-type'] ?? 'application/octet-stream');
    try {
      assertLength(response, limits.maxBytes);
    } catch (error) {
      response.close();
      throw error;
    }
    return { body: cappedBody(response, limits.maxBytes), contentType };
  }

  async postWebhook(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<WebhookAnswer> {
    const signal = AbortSignal.timeout(this.limits.webhookMs);
    const response = await this.send(this.rules.parse(url), { method: 'POST', headers, body }, signal);
    try {
      for await (const piece of cappedBody(response, MAX_WEBHOOK_ANSWER_BYTES)) void piece;
    } catch {
      // The status is known; the rest of the response does not matter.
    }
    return {
      status: response.status,
      retryAfterSeconds: parseRetryAfter(response.headers, this.clock.now()) ?? null,
    };
  }

  /** The final response, after redirects. @throws OutboundError */
  private async get(
    text: string,
    accept: string,
    signal: AbortSignal,
    credential: DownloadCredential | null = null,
  ): Promise<OutboundResponse> {
    let url = this.rules.parse(text);
    let isTrusted = credential !== null;
    for (let redirects = 0; ; redirects++) {
      isTrusted &&= credential?.hosts.includes(url.host) === true;
      const headers = isTrusted ? { ...credential?.headers, accept } : { accept };
      const response = await this.send(url, { method: 'GET', headers }, signal);
      if (isWhole(response)) return response;
      response.close();
      const { location } = response.headers;
      const { status } = response;
      if (!REDIRECTS.has(status) || location === undefined) throw new OutboundError('failed', { status });
      const target = URL.parse(location, url.href)?.href ?? '';
      if (redirects === MAX_REDIRECTS || !HTTPS.test(target)) return await this.refuseRedirect(target, signal);
      url = this.parseRedirect(target);
    }
  }

  /** The client's URL is valid at this point: a malformed redirect is the server's fault. */
  private parseRedirect(target: string): URL {
    try {
      return this.rules.parse(target);
    } catch (error) {
      if (error instanceof OutboundError && error.fault === 'blocked') throw error;
      throw new OutboundError('failed', { cause: error });
    }
  }

  /**
   * Refuses a redirect that is not followed, with any scheme.
   * @throws OutboundError `blocked` when it leads to a blocked host, as for followed redirects; else `failed`
   */
  private async refuseRedirect(target: string, signal: AbortSignal): Promise<never> {
    const url = this.parseRedirect(target.replace(SCHEME, 'https://'));
    await this.addressesOf(url, AbortSignal.any([signal, AbortSignal.timeout(this.limits.lookupMs)]));
    throw new OutboundError('failed');
  }

  private async send(url: URL, request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const lookup = AbortSignal.any([signal, AbortSignal.timeout(this.limits.lookupMs)]);
    const addresses = await this.addressesOf(url, lookup);
    return exchange({ url, addresses }, request, this.connector, signal);
  }

  private async lookUp(url: string): Promise<void> {
    await this.addressesOf(this.rules.parse(url), AbortSignal.timeout(this.limits.lookupMs));
  }

  /** Empty for an IP literal, which the rules have already checked. */
  private async addressesOf({ hostname }: URL, signal: AbortSignal): Promise<readonly PinnedAddress[]> {
    return literalOf(hostname) === null ? lookUpPublic(hostname, this.resolve, this.policy, signal) : [];
  }

  private async readImage(response: OutboundResponse, budget: ByteBudget): Promise<FetchedImage> {
    const { imageBytes } = this.limits;
    const pieces: Buffer[] = [];
    try {
      if (!/^image\//i.test(response.headers['content-type'] ?? '')) throw new OutboundError('no-image');
      assertLength(response, imageBytes);
      for await (const piece of cappedBody(response, imageBytes) as AsyncIterable<Buffer>) {
        if (!budget.take(piece.length)) throw new OutboundError('too-many-bytes');
        pieces.push(piece);
      }
    } finally {
      response.close();
    }
    const bytes = Buffer.concat(pieces);
    const contentType = sniffImageType(bytes);
    if (contentType === null) throw new OutboundError('no-image');
    return { bytes, contentType };
  }

  private noteConnection(peer: string, verdict: AddressVerdict): void {
    if (verdict === 'allow-listed')
      this.logger.log({ event: 'outbound_allow_list_used', message: 'connected to an allow-listed address', peer });
  }
}

/**
 * Compression was not requested, and a small body can unpack to gigabytes. A repeated header is an array at runtime,
 * despite its type.
 */
function isWhole({ status, headers }: OutboundResponse): boolean {
  const { 'content-encoding': encoding = 'identity' } = headers;
  return status === 200 && String(encoding).toLowerCase() === 'identity';
}

/** Avoids reading a body that declares itself too long; Content-Length is not trusted otherwise. */
function assertLength({ headers }: OutboundResponse, maxBytes: number): void {
  if (Number(headers['content-length']) > maxBytes) throw new OutboundError('too-large');
}

function toClientError(error: unknown, param: string): unknown {
  return error instanceof OutboundError ? error.toClientError(param) : error;
}
