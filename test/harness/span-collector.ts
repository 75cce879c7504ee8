import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Tracing } from '../../src/core/observability/traces/tracing';

/** A process without a collector. */
export const UNTRACED: Pick<Tracing, 'follow'> = { follow: () => null };

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** A collector that keeps the spans it receives (OTLP over HTTP, with JSON). */
export class SpanCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: (string | undefined)[] = [];
  private hangs = false;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SpanCollector> {
    const server = createServer();
    const collector = new SpanCollector(server);
    server.on('request', (request, response) => {
      if (collector.hangs) return;
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        collector.headers.push(request.headers.authorization);
        const { resourceSpans } = JSON.parse(Buffer.concat(pieces).toString());
        for (const { scopeSpans } of resourceSpans) {
          for (const { spans } of scopeSpans) collector.spans.push(...spans);
        }
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on it reads nothing and answers nothing. */
  hang(): void {
    this.hangs = true;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export function attributesOf({ attributes }: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
