import { type FinishResult, KeyClaimedError, type UsageRecord } from '../billing/ledger/money.types';
import type { AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { GENAI_NAMES, type GenaiNames, genaiOperationOf } from '../core/observability/genai-names';
import { type Micro, microToJson } from '../core/types/micro';
import type { RequestTrace, SpanAttributes, StepFacts, TraceStep } from '../core/types/trace';
import type { CallTrace } from '../providers/contract/provider-call';
import { inputTokensOf, outputTokensOf } from '../providers/contract/usage';
import type { Candidate, InferenceInput } from './inference.types';

/** Limits a model name that a provider sent, so that it cannot fill a span. */
const MAX_MODEL_LENGTH = 200;

/** The scope of the limit that refused a request. */
export const LIMITS_FACTS: StepFacts<unknown> = {
  failed: (error) => {
    const details = error instanceof GatewayError ? (error.details as { readonly scope?: string } | undefined) : {};
    return { 'gateway.limit.refused_by': details?.scope };
  },
};

export function holdFacts(holdMicro: Micro): StepFacts<unknown> {
  const amount = { 'gateway.hold_micro': microToJson(holdMicro) };
  return {
    done: () => ({ ...amount, 'gateway.money.result': 'held' }),
    failed: (error) => ({
      ...amount,
      'gateway.money.result': error instanceof KeyClaimedError ? 'key_claimed' : 'refused',
    }),
  };
}

/**
 * The spans of one traced request: its checks, its calls of providers and its charge. Times are monotonic milliseconds.
 */
export class RequestSteps implements CallTrace {
  private attempt: TraceStep | null = null;
  private attemptBeganMs = 0;
  /** For the current call; `undefined` when it must not be sent to its provider. */
  traceparent: string | undefined;
  private readonly names: GenaiNames;
  private answeredAtMs: number | null = null;
  private server: URL | null = null;
  private finishReason: string | null = null;
  private responseModel: string | undefined;

  private constructor(
    private readonly trace: RequestTrace,
    private readonly input: InferenceInput,
    private readonly settings: AppConfig['traces'],
  ) {
    this.names = GENAI_NAMES[settings.genaiConventions];
  }

  /** `null`: the request is not traced. */
  static of(input: InferenceInput, settings: AppConfig['traces']): RequestSteps | null {
    const { trace } = input.context;
    return trace === null ? null : new RequestSteps(trace, input, settings);
  }

  /** The trace ends with the charge, not with the response. */
  hold(): void {
    this.trace.hold();
  }

  beginAttempt({ model, provider, deployment }: Candidate, attempt: number, startMs: number): void {
    const { names } = this;
    const operation = genaiOperationOf(this.input.operation);
    this.attemptBeganMs = startMs;
    this.server = null;
    this.responseModel = undefined;
    this.attempt = this.trace.begin(`${operation} ${model.id}`, 'client', startMs, {
      [names.operation]: operation,
      [names.provider]: provider.id,
      [names.requestModel]: deployment.upstreamModel,
      [names.stream]: this.input.streamed,
      'gateway.attempt': attempt,
    });
    this.traceparent = this.settings.propagateTo.includes(provider.id) ? this.attempt.traceparent : undefined;
  }

  /** Called by the provider's client, because the URL may differ between models of a provider. */
  noteServer(baseUrl: URL): void {
    this.server = baseUrl;
  }

  /** The name of the model that answered, from the provider's reply. */
  noteModel(name: unknown): void {
    if (typeof name === 'string') this.responseModel = name.slice(0, MAX_MODEL_LENGTH);
  }

  /** Why the model stopped. */
  noteFinish(reason: string | null | undefined): void {
    this.finishReason = reason ?? null;
  }

  /** The current call has failed. */
  endAttempt(endMs: number, errorType: string): void {
    this.attempt?.end(endMs, this.serverAttributes(), errorType);
    this.attempt = null;
  }

  /** The last byte of the answer has arrived; its usage follows. */
  markAnswered(atMs: number): void {
    this.answeredAtMs = atMs;
  }

  /** The charge is committed, or has failed with `null`. */
  end(record: UsageRecord, result: FinishResult | null, holdMicro: Micro, settleBeganMs: number, endMs: number): void {
    const { usage, firstTokenMs, streamed, errorCode } = record;
    const { names, trace } = this;
    const firstChunkMs = firstTokenMs === null ? null : this.input.context.startedAtMs + firstTokenMs;
    this.attempt?.end(
      this.answeredAtMs ?? settleBeganMs,
      {
        ...this.serverAttributes(),
        [names.responseModel]: this.responseModel,
        [names.finishReasons]: this.finishReason === null ? undefined : [this.finishReason],
        [names.inputTokens]: inputTokensOf(usage),
        [names.outputTokens]: outputTokensOf(usage),
        [names.cacheReadTokens]: usage.inputCacheRead,
        [names.cacheWriteTokens]: usage.inputCacheWrite5m + usage.inputCacheWrite1h,
        [names.reasoningTokens]: usage.outputReasoning,
        [names.firstChunkSeconds]:
          streamed && firstChunkMs !== null ? Math.max(0, firstChunkMs - this.attemptBeganMs) / 1_000 : undefined,
      },
      errorCode ?? undefined,
    );
    const outcome = result === null ? 'failed' : result.applied ? 'applied' : 'expired';
    trace.begin('settle', 'internal', settleBeganMs).end(endMs, { 'gateway.money.result': outcome });
    trace.set({
      'gateway.streamed': streamed,
      'gateway.attempts': record.attempts,
      'gateway.hold_micro': microToJson(holdMicro),
      'gateway.charged_micro': result === null ? undefined : microToJson(result.chargedMicro),
      'gateway.price_version_id': record.priceVersionId ?? undefined,
      'gateway.error_code': errorCode ?? undefined,
    });
    trace.release();
  }

  /** https://opentelemetry.io/docs/specs/semconv/general/attributes/#server-attributes */
  private serverAttributes(): SpanAttributes {
    if (this.server === null) return {};
    const { hostname, port, protocol } = this.server;
    return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
  }
}
