import { Inject, Injectable, Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { FinishResult, UsageRecord } from '../billing/ledger/money.types';
import { ERROR_CATALOG, type ErrorCode, type ErrorType } from '../core/errors/catalog';
import { Metrics } from '../core/observability/metrics/catalogue';
import { type CounterSeries, type HistogramSeries, OTHER } from '../core/observability/metrics/series-cap';
import { traceFieldsOf } from '../core/observability/traces/tracing';
import { toRequestId } from '../core/types/ids';
import type { RequestContext } from '../core/types/request-context';
import type { GatewayError } from '../core/errors/gateway-error';
import { microToJson } from '../core/types/micro';
import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, outputTokensOf, type UsageVector } from '../providers/contract/usage';
import type { Candidate } from './inference.types';

/** How a request or call ended: the label `outcome`. */
export type Outcome = 'success' | 'canceled' | ErrorType;

/** Not in the error table: the client disconnected. */
const CLIENT_CLOSED_REQUEST = 499;

export function outcomeOf(status: number, code: string | null): Outcome {
  if (code !== null) return ERROR_CATALOG[code as ErrorCode].type;
  return status === CLIENT_CLOSED_REQUEST ? 'canceled' : 'success';
}

/** An admitted request that has ended. Times are in milliseconds. */
export interface EndedRequest {
  readonly record: UsageRecord;
  /** `null`: the charge could not be committed. */
  readonly result: FinishResult | null;
  /** The model and candidates that were asked for, and the one that answered. */
  readonly candidates: readonly Candidate[];
  readonly served: Candidate | null;
  readonly servedModel: CatalogModel;
  /** From the arrival to the commit of the charge. */
  readonly totalMs: number;
  /** From the arrival to the first call of a provider; `null`: none was called. */
  readonly admitMs: number | null;
  /** From the provider's last byte to the commit; `null`: there was no complete answer. */
  readonly finishMs: number | null;
  readonly context: Pick<RequestContext, 'trace' | 'traceparent'>;
}

/** The fields of a log line. Where the request has a receipt, they equal its fields. */
export interface EndedFields {
  readonly request_id: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly organization_id: string | undefined;
  readonly api_key_id: string | undefined;
  readonly operation: string;
  readonly model: string | undefined;
  readonly provider?: string | null;
  readonly deployment?: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly streamed: boolean;
  readonly attempts?: number;
  readonly charged_micro?: number | null;
  readonly duration_ms?: number;
}

/** Outcomes that are the fault of the gateway or a provider. */
const FAILURES: ReadonlySet<string> = new Set<ErrorType>(['internal_error', 'provider_error', 'timeout_error']);

const logger = new Logger('Requests');

/** Writes one line `request_ended` for the requests that `LOG_REQUESTS` selects; for an `internal_error` always. */
@Injectable()
export class RequestLog {
  private readonly mode: AppConfig['logRequests'];

  constructor(@Inject(APP_CONFIG) { logRequests }: Pick<AppConfig, 'logRequests'>) {
    this.mode = logRequests;
  }

  /** @param fields called only when a line is written */
  write(outcome: string, fields: () => EndedFields): void {
    if (this.mode === 'none' ? outcome !== 'internal_error' : this.mode === 'failures' && !FAILURES.has(outcome))
      return;
    logger.log({ event: 'request_ended', message: 'request ended', outcome, ...fields() });
  }
}

/**
 * Records requests in the metrics and the log. The series of a model are resolved once and kept for as long as the
 * catalogue has the model, so that the request path builds no label objects.
 */
@Injectable()
export class RequestMetrics {
  private readonly models = new WeakMap<CatalogModel, ModelSeries>();
  private readonly operations = new Map<string, OperationSeries>();
  private readonly deployments = new WeakMap<Candidate['deployment'], DeploymentSeries>();

  constructor(
    private readonly metrics: Metrics,
    private readonly log: RequestLog,
  ) {}

  /** Records an admitted request, once, after its charge is committed or has failed. */
  recordEnd(ended: EndedRequest): void {
    const { record, result, served, servedModel, totalMs, admitMs, finishMs } = ended;
    const { operation, streamed } = record;
    const outcome = result === null ? 'internal_error' : outcomeOf(record.status, record.errorCode);
    this.log.write(outcome, () => fieldsOf(ended));
    const ofModel = this.seriesOf(servedModel);
    const ofOperation = this.operationOf(operation);
    ofModel.requests(operation, outcome, streamed).inc();
    (streamed ? ofOperation.streamedSeconds : ofOperation.seconds).observe(totalMs / 1_000);
    if (admitMs !== null) ofOperation.admit.observe(admitMs / 1_000);
    if (finishMs !== null) ofOperation.finish.observe(finishMs / 1_000);
    if (streamed && record.firstTokenMs !== null) ofModel.recordPace(record, totalMs);
    if (result === null) return;
    if (outcome === 'success' && served !== null && served !== ended.candidates[0]) ofModel.fallbacks.inc();
    if (result.uncollectedMicro > 0n) this.metrics.uncollected.of(servedModel.id).inc(Number(result.uncollectedMicro));
    if (result.chargedMicro > 0n) ofModel.charged.inc(Number(result.chargedMicro));
    if (served === null) return;
    ofModel.recordUsage(served.provider.id, record.usage);
    if (record.usageEstimated) this.metrics.usageEstimated.of(served.provider.id).inc();
  }

  /** Records a refusal before a hold. */
  recordRefusal(operation: string, context: RequestContext, error: GatewayError, streamed: boolean): void {
    const outcome = outcomeOf(0, error.code);
    this.recordUncharged(operation, context.modelId, outcome, streamed);
    this.log.write(outcome, () => ({
      request_id: context.requestId,
      ...traceFieldsOf(context),
      organization_id: context.principal?.organizationId,
      api_key_id: context.principal?.keyId,
      operation,
      model: context.modelId,
      status: error.status,
      code: error.code,
      streamed,
    }));
  }

  /** Records a request that ended without a hold: refused, replayed, or the submission of a job. */
  recordUncharged(operation: string, modelId: string | undefined, outcome: Outcome, streamed: boolean): void {
    this.metrics.requests.of(operation, modelId ?? OTHER, outcome, String(streamed)).inc();
  }

  recordImplausibleUsage(provider: string): void {
    this.metrics.usageRefused.of(provider).inc();
  }

  /** Records one call of a provider. */
  recordAttempt({ provider, deployment }: Candidate, operation: string, outcome: Outcome, durationMs: number): void {
    let series = this.deployments.get(deployment);
    if (series === undefined) {
      this.deployments.set(
        deployment,
        (series = new DeploymentSeries(this.metrics, provider.id, deploymentLabel(deployment))),
      );
    }
    series.attempts(outcome).inc();
    series.seconds(operation).observe(durationMs / 1_000);
  }

  recordRefusedCredential(provider: string): void {
    this.metrics.credentialRefused.of(provider).inc();
  }

  private seriesOf(model: CatalogModel): ModelSeries {
    let series = this.models.get(model);
    if (series === undefined) this.models.set(model, (series = new ModelSeries(this.metrics, model.id)));
    return series;
  }

  private operationOf(operation: string): OperationSeries {
    let series = this.operations.get(operation);
    if (series === undefined) this.operations.set(operation, (series = new OperationSeries(this.metrics, operation)));
    return series;
  }
}

/** The log fields of an admitted request. */
function fieldsOf({ record, result, totalMs, context }: EndedRequest): EndedFields {
  const { deploymentId, keyId, errorCode, organizationId, operation, model, provider, status, streamed, attempts } =
    record;
  return {
    request_id: toRequestId(record.id),
    ...traceFieldsOf(context),
    organization_id: organizationId,
    api_key_id: keyId,
    operation,
    model,
    provider,
    deployment: deploymentId,
    status,
    code: result === null ? 'internal_error' : errorCode,
    streamed,
    attempts,
    charged_micro: result === null ? null : microToJson(result.chargedMicro),
    duration_ms: Math.round(totalMs),
  };
}

/** The label `deployment`: `provider:upstream_model`. */
export function deploymentLabel({ provider, upstreamModel }: Candidate['deployment']): string {
  return `${provider}:${upstreamModel}`;
}

/** Finds series by short keys without building label objects. */
class Lookup<Series> {
  private readonly known = new Map<string, Series>();

  constructor(private readonly create: (key: string) => Series) {}

  at(key: string): Series {
    let series = this.known.get(key);
    if (series === undefined) this.known.set(key, (series = this.create(key)));
    return series;
  }
}

class OperationSeries {
  readonly seconds: HistogramSeries;
  readonly streamedSeconds: HistogramSeries;
  readonly admit: HistogramSeries;
  readonly finish: HistogramSeries;

  constructor(metrics: Metrics, operation: string) {
    this.seconds = metrics.requestDuration.of(operation, 'false');
    this.streamedSeconds = metrics.requestDuration.of(operation, 'true');
    this.admit = metrics.overhead.of(operation, 'admit');
    this.finish = metrics.overhead.of(operation, 'finish');
  }
}

class DeploymentSeries {
  private readonly byOutcome: Lookup<CounterSeries>;
  private readonly byOperation: Lookup<HistogramSeries>;

  constructor(metrics: Metrics, provider: string, label: string) {
    this.byOutcome = new Lookup((outcome) => metrics.upstreamAttempts.of(label, outcome));
    this.byOperation = new Lookup((operation) => metrics.upstreamDuration.of(provider, operation));
  }

  attempts(outcome: Outcome): CounterSeries {
    return this.byOutcome.at(outcome);
  }

  seconds(operation: string): HistogramSeries {
    return this.byOperation.at(operation);
  }
}

/** Series are created with their first observation: most models do not stream speech or generate images. */
class ModelSeries {
  readonly charged: CounterSeries;
  private readonly unary: Lookup<Lookup<CounterSeries>>;
  private readonly streamed: Lookup<Lookup<CounterSeries>>;
  private readonly tokens: Lookup<Lookup<CounterSeries>>;
  private readonly units: Lookup<CounterSeries>;
  private pace: { readonly first: HistogramSeries; readonly between: HistogramSeries } | null = null;

  constructor(
    private readonly metrics: Metrics,
    private readonly id: string,
  ) {
    const requests = (streamed: string) =>
      new Lookup((operation) => new Lookup((outcome) => metrics.requests.of(operation, id, outcome, streamed)));
    this.unary = requests('false');
    this.streamed = requests('true');
    this.tokens = new Lookup((provider) => new Lookup((direction) => metrics.tokens.of(id, provider, direction)));
    this.units = new Lookup((unit) => metrics.mediaUnits.of(id, unit));
    this.charged = metrics.charged.of(id);
  }

  get fallbacks(): CounterSeries {
    return this.metrics.fallbacks.of(this.id);
  }

  requests(operation: string, outcome: Outcome, streamed: boolean): CounterSeries {
    return (streamed ? this.streamed : this.unary).at(operation).at(outcome);
  }

  recordPace({ firstTokenMs, usage }: UsageRecord, totalMs: number): void {
    this.pace ??= { first: this.metrics.firstToken.of(this.id), between: this.metrics.outputToken.of(this.id) };
    const firstMs = firstTokenMs ?? totalMs;
    this.pace.first.observe(firstMs / 1_000);
    const tokens = outputTokensOf(usage);
    if (tokens >= 2) this.pace.between.observe(Math.max(0, totalMs - firstMs) / 1_000 / (tokens - 1));
  }

  recordUsage(provider: string, usage: UsageVector): void {
    const input = inputTokensOf(usage);
    const output = outputTokensOf(usage);
    if (input > 0 || output > 0) {
      const byDirection = this.tokens.at(provider);
      count(byDirection, 'input', input);
      count(byDirection, 'output', output);
      count(byDirection, 'cache_read', usage.inputCacheRead);
      count(byDirection, 'cache_write', usage.inputCacheWrite5m + usage.inputCacheWrite1h);
      count(byDirection, 'reasoning', usage.outputReasoning);
    }
    count(this.units, 'image', usage.images);
    count(this.units, 'second', usage.seconds);
    count(this.units, 'character', usage.characters);
  }
}

function count(series: Lookup<CounterSeries>, key: string, amount: number): void {
  if (amount > 0) series.at(key).inc(amount);
}
