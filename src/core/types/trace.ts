export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A step of a traced request that is under way. Times are monotonic milliseconds. */
export interface TraceStep {
  /** The header that continues the trace elsewhere. */
  readonly traceparent: string;
  /** @param errorType code of the failure; absent: none */
  end(endMs: number, attributes?: SpanAttributes, errorType?: string): void;
}

/** The trace of one sampled request. */
export interface RequestTrace {
  readonly traceId: string;
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
