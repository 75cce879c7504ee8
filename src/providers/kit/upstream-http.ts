/**
 * The only way from a provider to its upstream: a connection pool per configured base URL.
 * Everything that decides where a request goes is fixed here, at start, from the operator's settings; a call brings a
 * body and time limits, so that nothing a client sends can name a host. No redirects, no compression, no HTTP/2
 * (one lost packet would stall every stream of the connection), and none of undici's own timeouts: five minutes
 * of reasoning is not a fault.
 */
import { Pool } from 'undici';
import { systemClock, type Clock } from '../../common/clock';
import type { ProviderCall } from '../contract/provider-call';
import { type ExpectedReply, type ReplyReceiver, UpstreamExchange } from './upstream-exchange';
import { WholeReply } from './whole-reply';

const MAX_CONNECTIONS = 1024;
const KEEP_ALIVE_MS = 30_000;

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
  private readonly headers: Readonly<Record<ExpectedReply, string[]>>;

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
    const common = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'gateway/1'];
    common.push(...Object.entries(headers).flat());
    this.headers = {
      json: [...common, 'accept', 'application/json'],
      'event-stream': [...common, 'accept', 'text/event-stream'],
    };
  }

  /** The request target of an endpoint below the base URL; compute it once, not per call. */
  endpoint(relativePath: string): string {
    const base = this.baseUrl.pathname.endsWith('/') ? this.baseUrl.pathname : `${this.baseUrl.pathname}/`;
    return new URL(base + relativePath, this.baseUrl.origin).pathname + this.baseUrl.search;
  }

  /**
   * The whole body of a successful reply, at most 32 MiB.
   * @throws ProviderError for every other ending
   */
  post(endpoint: string, body: string, call: ProviderCall): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.send(endpoint, body, call, 'json', new WholeReply(resolve, reject));
    });
  }

  /** Sends and returns at once; the body of the JSON reply goes to `receiver` as it arrives. */
  postForPieces(endpoint: string, body: string, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'json', receiver);
  }

  /** The same for a reply that is a stream of events. */
  postForStream(endpoint: string, body: string, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    return this.send(endpoint, body, call, 'event-stream', receiver);
  }

  /** Ends all connections, calls in flight included. */
  close(): Promise<void> {
    return this.pool.destroy();
  }

  private send(
    path: string,
    body: string,
    call: ProviderCall,
    expected: ExpectedReply,
    receiver: ReplyReceiver,
  ): UpstreamExchange {
    const exchange = new UpstreamExchange(call, expected, receiver, this.clock);
    if (!call.signal.aborted) {
      this.pool.dispatch({ path, method: 'POST', headers: this.headers[expected], body }, exchange);
    }
    return exchange;
  }
}
