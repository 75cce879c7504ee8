import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Client } from 'undici';
import { connectorTo, type ConnectorOptions, type Destination } from './guarded-connector';
import { OutboundError } from './outbound-error';

const MAX_HEADER_BYTES = 16 * 1024;

/** Sent with every request; headers of the caller's request never are. */
const COMMON_HEADERS = { 'user-agent': 'inference-gateway/1', 'accept-encoding': 'identity' };

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** A response with an unread body. The receiver must close it. */
export interface OutboundResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Closes the connection, whether or not the body was read. */
  close(): void;
}

/**
 * One request over a separate connection, so that no connection outlives its address check. The signal aborts it in any
 * phase: connecting, waiting or reading. Redirects are returned like other responses; bodies are raw.
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
    // The signal limits the total time.
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
    // An error of an unread body must not crash the process.
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
