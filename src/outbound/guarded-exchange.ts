import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Client } from 'undici';
import { connectorTo, type ConnectorOptions, type Destination } from './guarded-connector';
import { OutboundError } from './outbound-error';

const MAX_HEADER_BYTES = 16 * 1024;

/** Sent with every request; nothing of a caller's own request ever is. */
const COMMON_HEADERS = { 'user-agent': 'inference-gateway/1', 'accept-encoding': 'identity' };

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** An answer whose body has not been read. Whoever has one must close it. */
export interface OutboundResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Ends the connection, read or not. */
  close(): void;
}

/**
 * One request over a connection of its own, so that none outlives the check of its address. The signal ends it whatever
 * it is doing: connecting, waiting, or reading. Redirects are answers like others; bodies are what came over the wire.
 * @throws OutboundError
 */
export async function exchange(
  destination: Destination,
  { method, headers, body }: OutboundRequest,
  connector: ConnectorOptions,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const { url } = destination;
  const client = new Client(url.origin, {
    connect: connectorTo(destination, connector, signal),
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The signal limits all of it together.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const close = (): void => void client.destroy();
  try {
    const response = await client.request({
      method,
      path: url.pathname + url.search,
      headers: { ...headers, ...COMMON_HEADERS },
      body: body ?? null,
      reset: true,
      signal,
    });
    // A body that nobody reads to its end must not bring the process down with its error.
    response.body.on('error', () => undefined);
    return { status: response.statusCode, headers: response.headers, body: response.body, close };
  } catch (error) {
    close();
    throw asOutboundError(error);
  }
}

export function asOutboundError(error: unknown): OutboundError {
  return error instanceof OutboundError ? error : new OutboundError('failed', { cause: error });
}
