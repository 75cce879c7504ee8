/**
 * The only way from a provider to its upstream: a connection pool per configured base URL. The operator's settings fix
 * the destination here, at creation; a call only adds a body and time limits, so a client can never choose a host. No
 * redirects, no compression, no HTTP/2 (one lost packet would stall every stream of the connection), and none of
 * undici's own timeouts: five minutes of reasoning is not a fault.
 */
import { type Dispatcher, Pool } from 'undici';
import { systemClock, type Clock } from '../../core/time/clock';
import type { ProviderCall } from '../contract/provider-call';
import { MultipartBody } from './multipart-body';
import { type ExpectedReply, type ReplyReceiver, UpstreamExchange } from './upstream-exchange';
import { WholeReply } from './whole-reply';

const MAX_CONNECTIONS = 1024;
const KEEP_ALIVE_MS = 30_000;
const JSON_BODY = ['content-type', 'application/json'];

/** JSON as text, or a form. */
export type UpstreamBody = string | MultipartBody;

export interface UpstreamHttpOptions {
  /** Absolute; a path prefix and a query are kept. */
  readonly baseUrl: URL;
  /** Sent with every request, for example the credential. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

export class UpstreamHttp {
  private readonly pool: Pool;
  private readonly baseUrl: URL;
  private readonly clock: Clock;
  /** Headers of every request with a JSON body, by the expected reply. */
  private readonly headers: Readonly<Record<ExpectedReply, string[]>>;
  private readonly formHeaders: Readonly<Record<ExpectedReply, string[]>>;

  constructor({ baseUrl, headers = {}, clock = systemClock }: UpstreamHttpOptions) {
    this.baseUrl = baseUrl;
    this.clock = clock;
    this.pool = new Pool(baseUrl.origin, {
      allowH2: false,
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    const common = ['accept-encoding', 'identity', 'user-agent', 'gateway/1', ...Object.entries(headers).flat()];
    this.headers = byReply([...JSON_BODY, ...common]);
    this.formHeaders = byReply(common);
  }

  /** The request target of an endpoint below the base URL; compute it once, not per call. */
  endpoint(relativePath: string): string {
    const base = this.baseUrl.pathname.endsWith('/') ? this.baseUrl.pathname : `${this.baseUrl.pathname}/`;
    return new URL(base + relativePath, this.baseUrl.origin).pathname + this.baseUrl.search;
  }

  /**
   * The whole body of a successful reply, at most 32 MiB.
   * @throws ProviderError for every other outcome
   */
  post(endpoint: string, body: UpstreamBody, call: ProviderCall): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.send(endpoint, body, call, 'json', new WholeReply(resolve, reject));
    });
  }

  /** Sends and returns at once; the body of the JSON reply goes to `receiver` as it arrives. */
  postForPieces(endpoint: string, body: UpstreamBody, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'json', receiver);
  }

  /** The same for a reply that is a stream of events. */
  postForStream(endpoint: string, body: UpstreamBody, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'event-stream', receiver);
  }

  /** The same for an audio reply. */
  postForAudio(endpoint: string, body: UpstreamBody, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'audio', receiver);
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
    body: UpstreamBody,
    call: ProviderCall,
    expected: ExpectedReply,
    receiver: ReplyReceiver,
  ): UpstreamExchange {
    const exchange = new UpstreamExchange(call, expected, receiver, this.clock);
    if (!call.signal.aborted) {
      this.pool.dispatch({ path, method: 'POST', ...this.payload(body, expected) }, exchange);
    }
    return exchange;
  }

  private payload(body: UpstreamBody, expected: ExpectedReply): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
    if (typeof body === 'string') return { headers: this.headers[expected], body };
    const { contentType, byteLength } = body;
    const headers = [...this.formHeaders[expected], 'content-type', contentType, 'content-length', String(byteLength)];
    return { headers, body: body.toStream() };
  }
}

function byReply(headers: readonly string[]): Record<ExpectedReply, string[]> {
  return {
    json: [...headers, 'accept', 'application/json'],
    'event-stream': [...headers, 'accept', 'text/event-stream'],
    // Any type, so that hosts that name their audio type differently still send it.
    audio: [...headers, 'accept', '*/*'],
  };
}
