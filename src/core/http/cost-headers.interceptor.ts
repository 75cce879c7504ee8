import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { Metrics } from '../observability/metrics/catalogue';
import type { GaugeSeries } from '../observability/metrics/series-cap';
import { type Billed, Bytes, EventStream, Json, JSON_TYPE, LiveBytes } from './answer';
import { ANSWER_SENT } from './fastify-adapter';
import { ByteReply, EventReply, type EventTiming } from './live-reply';
import { replyOf, requestOf } from './request';

/**
 * Sends what controllers return as an `Answer`, with the headers of its cost, model and rate limits: the only writer of
 * successful API responses. Other values are left to Nest.
 */
@Injectable()
export class CostHeadersInterceptor implements NestInterceptor {
  private readonly eventTiming: EventTiming;
  private readonly stallMs: number;
  private readonly streamsOpen: GaugeSeries;

  constructor(@Inject(APP_CONFIG) { http, inference }: AppConfig, metrics: Metrics) {
    this.streamsOpen = metrics.streamsOpen.of('api');
    this.stallMs = inference.idleTimeoutMs;
    this.eventTiming = { pingMs: http.ssePingMs, mergeMs: http.sseMergeMs, stallMs: this.stallMs };
  }

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const request = requestOf(context);
    const reply = replyOf(context);
    return next.handle().pipe(map((value) => this.send(value, request, reply)));
  }

  /** Nest awaits a promise that an observable emits, so none is unwrapped here. */
  private send(value: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
    if (value instanceof Json) {
      sendJson(reply, request, value);
      setWriteTimeout(reply.raw, this.stallMs);
      return ANSWER_SENT;
    }
    if (value instanceof Bytes) {
      const { content, contentType } = value;
      if (content instanceof LiveBytes) {
        const headersOf = (): Record<string, string> => liveHeaders(request, content.billed());
        const output = new ByteReply(reply, contentType ?? '', headersOf, this.stallMs);
        return this.whileOpen(content.produce(output));
      }
      setHead(reply, request, value);
      sendBytes(reply, value);
      setWriteTimeout(reply.raw, this.stallMs);
      return ANSWER_SENT;
    }
    if (value instanceof EventStream) {
      const headersOf = (): Record<string, string> => liveHeaders(request, value.billed());
      const output = new EventReply(reply, headersOf, value.failureEvents, this.eventTiming);
      return this.whileOpen(value.produce(output));
    }
    return value;
  }

  private async whileOpen(produced: Promise<void>): Promise<typeof ANSWER_SENT> {
    this.streamsOpen.inc();
    try {
      await produced;
      return ANSWER_SENT;
    } finally {
      this.streamsOpen.dec();
    }
  }
}

/** Bypasses `reply.send`, because no hook or serialization is needed here. */
function sendJson(reply: FastifyReply, { context }: FastifyRequest, { text, head }: Json): void {
  const { status, headers, billed } = head;
  const all: Record<string, unknown> = { ...reply.getHeaders(), ...context.rateLimitHeaders, ...headers };
  if (billed !== undefined) {
    all['x-llm-model'] = billed.modelId;
    all['x-llm-cost-micro'] = String(billed.costMicro);
  }
  all['content-type'] = JSON_TYPE;
  all['content-length'] = Buffer.byteLength(text);
  const response = reply.raw.writeHead(status ?? reply.statusCode, all as OutgoingHttpHeaders);
  // Only after the headers were accepted: a hijacked reply cannot report invalid headers.
  reply.hijack();
  response.end(text);
}

function setHead(reply: FastifyReply, { context }: FastifyRequest, { head }: Bytes): void {
  const { status, headers, billed } = head;
  if (status !== undefined) reply.code(status);
  if (context.rateLimitHeaders !== null) reply.headers(context.rateLimitHeaders);
  if (headers !== undefined) reply.headers(headers);
  if (billed !== undefined) {
    reply.header('x-llm-model', billed.modelId).header('x-llm-cost-micro', String(billed.costMicro));
  }
}

/** The headers of a response that bypasses Fastify. */
function liveHeaders({ context }: FastifyRequest, { modelId, costMicro }: Billed): Record<string, string> {
  return {
    ...context.rateLimitHeaders,
    'x-request-id': context.requestId,
    'x-llm-model': modelId,
    'x-llm-cost-micro': String(costMicro),
  };
}

function sendBytes(reply: FastifyReply, { content, contentType }: Bytes): void {
  if (contentType !== null) reply.header('content-type', contentType);
  if (Array.isArray(content)) {
    // Joining many megabytes would block the event loop.
    const pieces: readonly Buffer[] = content;
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    reply.header('content-length', length).send(Readable.from(pieces));
  } else {
    reply.send(content ?? undefined);
  }
}

/**
 * Disconnects a client that reads nothing of a complete response for `timeoutMs`, which would keep the response in
 * memory. Node restarts the timeout with every byte that is read and restores the keep-alive timeout after the
 * response.
 */
function setWriteTimeout(response: ServerResponse, timeoutMs: number): void {
  // Nearly every response fits the kernel buffer and is out of process memory: it needs no timer.
  if (response.writableEnded && response.writableLength === 0) return;
  response.socket?.setTimeout(timeoutMs);
}

/** Adds `X-Request-Id` to the response. Refusals before this interceptor get the header from the exception filter. */
@Injectable()
export class RequestIdInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    replyOf(context).header('x-request-id', requestOf(context).context.requestId);
    return next.handle();
  }
}
