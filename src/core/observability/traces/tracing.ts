import type { Context, Span, SpanKind, SpanOptions, TimeInput } from '@opentelemetry/api' with {
  'resolution-mode': 'import',
};
import type { AppConfig } from '../../config/app-config';
import type { Clock } from '../../time/clock';
import { ERROR_CATALOG } from '../../errors/catalog';
import type { RequestContext } from '../../types/request-context';
import type { RequestTrace, SpanAttributes, StepFacts, TraceStep } from '../../types/trace';
import type { Metrics } from '../metrics/catalogue';
import { openSpanExport, type SpanExport } from './span-export';

const FLUSH_WITHIN_MS = 2_000;

/** Version 0 of W3C Trace Context. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

interface RemoteParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** The trace fields of a log line. A request that is not sampled gets the trace id that its caller sent. */
export function traceFieldsOf({ trace, traceparent }: Pick<RequestContext, 'trace' | 'traceparent'>): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  if (trace != null) return { trace_id: trace.traceId, span_id: trace.spanId };
  const caller = parseTraceparent(traceparent);
  return caller === null ? {} : { trace_id: caller.traceId };
}

/** The caller's span; `null` when it sent no valid `traceparent`. */
function parseTraceparent(header: unknown): RemoteParent | null {
  const [, traceId, spanId, flags] = (typeof header === 'string' && TRACEPARENT.exec(header)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/**
 * Traces requests with OpenTelemetry, where a collector is configured; otherwise its SDK is not even loaded. Whether a
 * request is traced is decided before anything else, so that the others cost nothing. Spans get their parents and times
 * explicitly: no async context is used.
 */
export class Tracing {
  private constructor(
    private readonly spans: SpanExport | null,
    private readonly ratio: number,
    private readonly clock: Clock,
    private readonly random: () => number,
  ) {}

  static async connect(
    { traces }: Pick<AppConfig, 'traces'>,
    metrics: Metrics,
    clock: Clock,
    random: () => number = Math.random,
  ): Promise<Tracing> {
    const spans = traces.endpoint === null ? null : await openSpanExport(traces, traces.endpoint, metrics);
    return new Tracing(spans, traces.ratio, clock, random);
  }

  /** Begins the trace of a request. `null`: it is not sampled. @param startMs monotonic */
  begin(name: string, traceparent: unknown, startMs: number): RequestTrace | null {
    if (this.spans === null) return null;
    const parent = parseTraceparent(traceparent);
    const isSampled = parent === null ? this.random() < this.ratio : (parent.traceFlags & SAMPLED) === SAMPLED;
    if (!isSampled) return null;
    const { api } = this.spans;
    const outside =
      parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true });
    return new SampledTrace(this.spans, name, { kind: api.SpanKind.SERVER }, outside, startMs, this.clock);
  }

  /**
   * Begins a trace of work that follows from a traced request, linked to it: the work may last for days and be
   * repeated. `null`: the request was not traced, or this process traces nothing.
   * @param traceparent of the request. @param startMs monotonic
   */
  follow(name: string, kind: 'client' | 'internal', traceparent: string | null, startMs: number): RequestTrace | null {
    const origin = parseTraceparent(traceparent);
    if (this.spans === null || origin === null) return null;
    const { api } = this.spans;
    const options = { kind: spanKindOf(api, kind), links: [{ context: { ...origin, isRemote: true } }] };
    return new SampledTrace(this.spans, name, options, api.ROOT_CONTEXT, startMs, this.clock);
  }

  /** Sends the last spans, for at most two seconds. */
  async flush(): Promise<void> {
    if (this.spans === null) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FLUSH_WITHIN_MS);
    });
    await Promise.race([this.spans.flush().catch(() => undefined), timeout]);
    clearTimeout(timer);
  }
}

class SampledTrace implements RequestTrace {
  private readonly root: Span;
  private readonly context: Context;
  /** Milliseconds to add to the monotonic clock for the time of day. */
  private readonly offsetMs: number;
  private holders = 0;
  private ending: (() => void) | null = null;

  constructor(
    private readonly spans: SpanExport,
    name: string,
    options: SpanOptions,
    outside: Context,
    startMs: number,
    private readonly clock: Clock,
  ) {
    const { api, tracer } = spans;
    this.offsetMs = clock.now() - clock.monotonic();
    this.root = tracer.startSpan(name, { ...options, startTime: this.timeOf(startMs) }, outside);
    this.context = api.trace.setSpan(outside, this.root);
  }

  get traceId(): string {
    return this.root.spanContext().traceId;
  }

  get spanId(): string {
    return this.root.spanContext().spanId;
  }

  get traceparent(): string {
    return traceparentOf(this.root);
  }

  async runStep<Result>(name: string, work: () => Promise<Result>, facts: StepFacts<Result> = {}): Promise<Result> {
    const step = this.begin(name, facts.kind ?? 'internal', this.clock.monotonic());
    try {
      const result = await work();
      step.end(this.clock.monotonic(), facts.done?.(result));
      return result;
    } catch (error) {
      step.end(this.clock.monotonic(), facts.failed?.(error), errorTypeOf(error));
      throw error;
    }
  }

  begin(name: string, kind: 'client' | 'internal', startMs: number, attributes: SpanAttributes = {}): TraceStep {
    const { tracer, api } = this.spans;
    const startTime = this.timeOf(startMs);
    const options = { kind: spanKindOf(api, kind), startTime, attributes: known(attributes) };
    const span = tracer.startSpan(name, options, this.context);
    return {
      traceparent: traceparentOf(span),
      end: (endMs, more = {}, errorType) =>
        this.end(span, endMs, { ...more, 'error.type': errorType }, errorType !== undefined),
    };
  }

  set(attributes: SpanAttributes): void {
    this.root.setAttributes(known(attributes));
  }

  hold(): void {
    this.holders++;
  }

  release(): void {
    if (--this.holders === 0) this.ending?.();
  }

  close(endMs: number, attributes: SpanAttributes, isFailed: boolean): void {
    this.ending = () => this.end(this.root, endMs, attributes, isFailed);
    if (this.holders === 0) this.ending();
  }

  private end(span: Span, endMs: number, attributes: SpanAttributes, isFailed: boolean): void {
    span.setAttributes(known(attributes));
    if (isFailed) span.setStatus({ code: this.spans.api.SpanStatusCode.ERROR });
    span.end(this.timeOf(endMs));
  }

  private timeOf(monotonicMs: number): TimeInput {
    return monotonicMs + this.offsetMs;
  }
}

function spanKindOf(api: SpanExport['api'], kind: 'client' | 'internal'): SpanKind {
  return kind === 'client' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL;
}

function traceparentOf(span: Span): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

/** The code of an error of the gateway or a provider; other errors have no public code. */
function errorTypeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code in ERROR_CATALOG ? code : 'internal_error';
}

function known(attributes: SpanAttributes): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, Array.isArray(value) ? [...value] : (value as string | number | boolean)]];
    }),
  );
}
