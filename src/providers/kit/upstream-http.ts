/**
 * The only way from a provider to its upstream: one connection pool per configured base URL. The destination is fixed
 * at creation by the operator's settings; a call only adds a body and time limits, so a client can never choose a host.
 * No redirects, no compression, no HTTP/2 (one lost packet would stall every stream of the connection), and none of
 * undici's own timeouts: five minutes of reasoning are not a fault.
 */
import type { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { type Clock, systemClock } from '../../core/time/clock';
import type { CallLimits } from '../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';
import { CallDeadline } from './call-deadline';
import { Download } from './download';
import type { MultipartBody } from './multipart-body';
import { type ReplyReceiver, WholeReply } from './reply-receiver';
import {
  cancellation,
  deadlineFailure,
  mapUpstreamError,
  transportFailure,
  type UpstreamHeaders,
} from './upstream-errors';

const MAX_CONNECTIONS = 1024;
const KEEP_ALIVE_MS = 30_000;
/** Long enough for one lost packet, which is resent after a second. */
const ADDRESS_TIMEOUT_MS = 1_500;
const JSON_BODY = ['content-type', 'application/json'];
/** Excludes `application/jsonl` and similar types, which vendors stream. */
const JSON_DOCUMENT = /^application\/json\s*(?:;|$)/i;
const AUDIO = /^(?:audio\/|(?:application\/ogg|(?:application|binary)\/octet-stream)\s*(?:;|$))/i;

type ContentType = string | string[] | undefined;

export interface UpstreamReply {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: Buffer;
}

/** JSON as text, a form, or a file. */
export type UpstreamBody = string | Pick<MultipartBody, 'contentType' | 'byteLength' | 'toStream'>;

export interface UpstreamHttpOptions {
  /** Absolute; a path prefix and a query are kept. */
  readonly baseUrl: URL;
  /** Sent with every request, for example the credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns the current `Authorization` header, for credentials that change. Called for every request. */
  readonly authorization?: () => string;
  /**
   * How long to wait for one address of the upstream before the next is tried. With the default of Node.js, 250 ms, a
   * distant upstream is unreachable if its last address is, such as an IPv6 address from an IPv4 network.
   */
  readonly addressTimeoutMs?: number;
  readonly clock?: Clock;
}

export class UpstreamHttp {
  private readonly pool: Pool;
  private readonly clock: Clock;
  /** Headers of every request with a JSON body, by the expected reply. */
  private readonly headers: Readonly<Record<ExpectedReply, string[]>>;
  /** The same headers without a content type. */
  private readonly bareHeaders: Readonly<Record<ExpectedReply, string[]>>;

  constructor(private readonly options: UpstreamHttpOptions) {
    const { baseUrl, headers = {}, clock = systemClock, addressTimeoutMs = ADDRESS_TIMEOUT_MS } = options;
    this.clock = clock;
    this.pool = new Pool(baseUrl.origin, {
      allowH2: false,
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    });
    const common = ['accept-encoding', 'identity', 'user-agent', 'gateway/1', ...Object.entries(headers).flat()];
    this.headers = byReply([...JSON_BODY, ...common]);
    this.bareHeaders = byReply(common);
  }

  /**
   * The request target of an endpoint below the base URL; compute it once, not per call, unless it has a query.
   * @param relativePath encoded
   */
  endpoint(relativePath: string, query: Readonly<Record<string, string>> = {}): string {
    const { pathname, origin, searchParams } = this.options.baseUrl;
    const base = pathname.endsWith('/') ? pathname : `${pathname}/`;
    const all = new URLSearchParams([...searchParams, ...Object.entries(query)]).toString();
    return new URL(base + relativePath, origin).pathname + (all === '' ? '' : `?${all}`);
  }

  /**
   * The whole body of a successful reply, at most 32 MiB.
   * @throws ProviderError for every other outcome
   */
  post(endpoint: string, body: UpstreamBody, call: CallLimits): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.send(endpoint, body, call, 'json', new WholeReply(resolve, reject));
    });
  }

  /** As {@link post}, without a body. */
  get(endpoint: string, call: CallLimits): Promise<Buffer> {
    return this.request('GET', endpoint, call).then(({ body }) => body);
  }

  /** As {@link post}, without a body. */
  delete(endpoint: string, call: CallLimits): Promise<Buffer> {
    return this.request('DELETE', endpoint, call).then(({ body }) => body);
  }

  /**
   * A request whose caller needs the reply's status or headers too. `headers` are in lower case.
   * @throws ProviderError for every outcome but a success
   */
  request(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    call: CallLimits,
    added: { readonly body?: UpstreamBody; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<UpstreamReply> {
    return new Promise((resolve, reject) => {
      const receiver = new WholeReply((body) => resolve({ ...exchange.head, body }), reject);
      const exchange = new UpstreamExchange(call, 'json', receiver, this.clock);
      if (call.signal.aborted) return;
      call.trace?.noteServer(this.options.baseUrl);
      const { headers, body } = this.payload(added.body ?? null, 'json', call.trace?.traceparent);
      const all = [...headers, ...Object.entries(added.headers ?? {}).flat()];
      this.pool.dispatch({ path, method, headers: all, body }, exchange);
    });
  }

  /**
   * The request target of a URL that the upstream returned; `null` unless it points to the upstream itself, since
   * requests carry the credential.
   */
  endpointAt(address: string): string | null {
    const url = URL.canParse(address) ? new URL(address) : null;
    return url !== null && url.origin === this.options.baseUrl.origin ? url.pathname + url.search : null;
  }

  /** Sends the request and returns at once; the body of the JSON reply goes to `receiver` as it arrives. */
  postForPieces(endpoint: string, body: UpstreamBody, call: CallLimits, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'json', receiver);
  }

  /** Like {@link postForPieces}, for a reply that is a stream of events. */
  postForStream(endpoint: string, body: UpstreamBody, call: CallLimits, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'event-stream', receiver);
  }

  /** Like {@link postForPieces}, for an audio reply. */
  postForAudio(endpoint: string, body: UpstreamBody, call: CallLimits, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'audio', receiver);
  }

  /**
   * Downloads a file. The caller must read it to its end or destroy it. Resolves with the first bytes.
   * @throws ProviderError for every other outcome
   */
  download(endpoint: string, call: CallLimits): Promise<Readable> {
    return Download.openFile((receiver) => this.send(endpoint, null, call, 'file', receiver));
  }

  /** Resolves when the calls in flight have ended. New calls fail in phase `connect`, before anything is sent. */
  drain(): Promise<void> {
    return this.pool.close();
  }

  /** Ends all connections, calls in flight included. */
  close(): Promise<void> {
    return this.pool.destroy();
  }

  private send(
    path: string,
    body: UpstreamBody | null,
    call: CallLimits,
    expected: ExpectedReply,
    receiver: ReplyReceiver,
  ): UpstreamExchange {
    const exchange = new UpstreamExchange(call, expected, receiver, this.clock);
    if (!call.signal.aborted) {
      const method = body === null ? 'GET' : 'POST';
      call.trace?.noteServer(this.options.baseUrl);
      this.pool.dispatch({ path, method, ...this.payload(body, expected, call.trace?.traceparent) }, exchange);
    }
    return exchange;
  }

  private payload(body: UpstreamBody | null, expected: ExpectedReply, traceparent?: string) {
    const credential = this.options.authorization?.();
    const added = credential === undefined ? [] : ['authorization', credential];
    if (traceparent !== undefined) added.push('traceparent', traceparent);
    const shared = (typeof body === 'string' ? this.headers : this.bareHeaders)[expected];
    const headers = added.length === 0 ? shared : [...shared, ...added];
    if (body === null || typeof body === 'string') return { headers, body };
    added.push('content-type', body.contentType, 'content-length', String(body.byteLength));
    return { headers: [...shared, ...added], body: body.toStream() };
  }
}

function byReply(headers: readonly string[]): Record<ExpectedReply, string[]> {
  return {
    json: [...headers, 'accept', 'application/json'],
    'event-stream': [...headers, 'accept', 'text/event-stream'],
    // Any type is accepted, so that hosts that name their audio type differently still send audio.
    audio: [...headers, 'accept', '*/*'],
    file: [...headers, 'accept', '*/*'],
  };
}

/** Enough for all known error documents; the rest is not read. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

/** The type of reply that the caller expects. If a JSON document arrives instead, it is a refusal. */
export type ExpectedReply = 'json' | 'event-stream' | 'audio' | 'file';

/**
 * One request and its reply, as a handler of undici's `dispatch`: no stream objects and no promises per chunk. Tracks
 * the phase of the call, enforces its time limits, and maps every failure to a `ProviderError`.
 */
export class UpstreamExchange implements Dispatcher.DispatchHandler {
  private phase: ProviderPhase = 'connect';
  private controller: Dispatcher.DispatchController | null = null;
  private refusal: { status: number; headers: UpstreamHeaders; chunks: Buffer[]; bytes: number } | null = null;
  private readonly deadline: CallDeadline;
  private closed = false;
  private idleMs: number;
  /** The status and headers of the reply, once it has begun. */
  head: Pick<UpstreamReply, 'status' | 'headers'> = { status: 0, headers: {} };

  constructor(
    private readonly call: CallLimits,
    private readonly expected: ExpectedReply,
    private readonly receiver: ReplyReceiver,
    private readonly clock: Clock,
  ) {
    this.idleMs = call.deadlines.idleMs;
    this.deadline = new CallDeadline(clock, call.deadlines.totalMs, () => this.fail(deadlineFailure(this.phase)));
    this.deadline.set(call.deadlines.connectMs);
    call.signal.addEventListener('abort', this.onAbort);
    if (call.signal.aborted) this.onAbort();
  }

  /** Call this when the first meaningful event was read: the idle limit then replaces the first-token limit. */
  enterStream(): void {
    this.phase = 'stream';
    this.touch();
  }

  /** Call this for every sign of activity of a streaming upstream. */
  touch(): void {
    if (this.phase === 'stream' && !this.closed) this.deadline.set(this.idleMs);
  }

  /** Stops reading. The silence that follows is not the upstream's fault, so only the total limit applies. */
  pause(): void {
    if (this.closed) return;
    this.controller?.pause();
    this.deadline.set(Infinity);
  }

  resume(): void {
    if (this.closed) return;
    this.touch();
    this.controller?.resume();
  }

  /** The receiver is done; the upstream gets `limitMs` to end the reply, so that the connection can be reused. */
  expectEndWithin(limitMs: number): void {
    this.idleMs = limitMs;
    if (!this.closed) this.deadline.set(limitMs);
  }

  /**
   * Ends the exchange, closing the upstream socket if the reply is not complete. The receiver gets no further calls.
   */
  close(): void {
    if (this.closed) return;
    this.finish();
    this.controller?.abort(new Error('The gateway no longer needs the reply.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.closed) {
      controller.abort(new Error('The call ended before it was sent.'));
      return;
    }
    this.controller = controller;
    this.phase = 'headers';
    this.deadline.set(this.call.deadlines.firstTokenMs);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UpstreamHeaders): void {
    if (this.closed || status < 200) return;
    this.phase = 'first_token';
    this.head = { status, headers };
    if (status >= 300 || (this.expected !== 'json' && isJson(headers['content-type']))) {
      this.refusal = { status, headers, chunks: [], bytes: 0 };
      return;
    }
    if (isHtml(headers['content-type'])) {
      // A web page of a proxy or a captive portal, regardless of the status.
      throw this.unusable('The provider sent a web page.', status);
    }
    if (this.expected === 'audio' && !mayBeAudio(headers['content-type'])) {
      throw this.unusable('The provider sent something other than audio.', status);
    }
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      // Compression is never requested, and a few bytes can unpack to gigabytes.
      throw this.unusable('The provider sent a compressed response.', status);
    }
    this.receiver.onHeaders?.(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.closed) return;
    if (this.refusal === null) {
      this.receiver.onData(chunk);
      return;
    }
    this.refusal.chunks.push(chunk);
    this.refusal.bytes += chunk.length;
    if (this.refusal.bytes >= MAX_ERROR_BODY_BYTES) throw this.refused(this.refusal);
  }

  onResponseEnd(): void {
    if (this.closed) return;
    if (this.refusal !== null) {
      this.fail(this.refused(this.refusal));
      return;
    }
    this.finish();
    this.receiver.onEnd();
  }

  /** Also receives errors that the methods above throw. */
  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(error instanceof ProviderError ? error : transportFailure(this.phase, error));
  }

  private readonly onAbort = (): void => this.fail(cancellation(this.phase, this.call.signal.reason));

  private fail(error: ProviderError): void {
    if (this.closed) return;
    this.finish();
    this.controller?.abort(error);
    this.receiver.onFailure(error);
  }

  private finish(): void {
    this.closed = true;
    this.deadline.clear();
    this.call.signal.removeEventListener('abort', this.onAbort);
  }

  private unusable(message: string, status: number): ProviderError {
    return new ProviderError('provider_error', message, { phase: this.phase, fallback: true, upstream: { status } });
  }

  private refused({ status, headers, chunks }: NonNullable<typeof this.refusal>): ProviderError {
    const { phase, call } = this;
    const body = Buffer.concat(chunks);
    return mapUpstreamError({ status, headers, body, phase, now: this.clock.now(), quirks: call.quirks });
  }
}

/**
 * Reads an operator's base URL.
 * @throws Error that names the variable; it prevents the start
 */
export function parseBaseUrl(value: string, variable: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error(`${variable} must be an absolute http or https URL, for example https://api.example.com/v1`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error(`${variable} must not contain a user name or password`);
  }
  return url;
}

function isJson(contentType: ContentType): boolean {
  return typeof contentType === 'string' && JSON_DOCUMENT.test(contentType);
}

function isHtml(contentType: ContentType): boolean {
  return typeof contentType === 'string' && contentType.toLowerCase().startsWith('text/html');
}

/** Some hosts send `application/octet-stream`, and some no content type at all. */
function mayBeAudio(contentType: ContentType): boolean {
  return contentType === undefined || (typeof contentType === 'string' && AUDIO.test(contentType));
}
