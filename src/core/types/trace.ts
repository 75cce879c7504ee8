export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A step of a traced request, in progress. Times are monotonic milliseconds. */
export interface TraceStep {
  /** The header that continues the trace elsewhere. */
  readonly traceparent: string;
  /** @param errorType code of the failure; absent: none */
  end(endMs: number, attributes?: SpanAttributes, errorType?: string): void;
}

/** Attributes of the span of a step, besides its times. */
export interface StepFacts<Result> {
  /** `client` for calls to other hosts; default `internal`. */
  readonly kind?: 'client' | 'internal';
  done?(result: Result): SpanAttributes;
  /** Attributes of a failure, besides `error.type`. */
  failed?(error: unknown): SpanAttributes;
}

/** The trace of one sampled request, or of work that follows from one. */
export interface RequestTrace {
  readonly traceId: string;
  /** The span of the request itself. */
  readonly spanId: string;
  /** Identifies the span of the request itself, so that later work can link to it. */
  readonly traceparent: string;
  /** Runs `work` as a step. */
  runStep<Result>(name: string, work: () => Promise<Result>, facts?: StepFacts<NoInfer<Result>>): Promise<Result>;
  /** @param kind `client` for calls to other hosts */
  begin(name: string, kind: 'client' | 'internal', startMs: number, attributes?: SpanAttributes): TraceStep;
  /** Adds to the attributes of the request itself. */
  set(attributes: SpanAttributes): void;
  /** Keeps the trace open beyond the response, until `release`: charges may be committed later. */
  hold(): void;
  release(): void;
  /**
   * The response has ended; a trace that is held ends with its release.
   * @param isFailed the gateway or a provider failed, not the caller
   */
  close(endMs: number, attributes: SpanAttributes, isFailed: boolean): void;
}

/** Runs `work` as a step of the trace; without a trace it only runs. */
export function inStep<Result>(
  trace: RequestTrace | null | undefined,
  name: string,
  work: () => Promise<Result>,
  facts?: StepFacts<NoInfer<Result>>,
): Promise<Result> {
  return trace == null ? work() : trace.runStep(name, work, facts);
}
