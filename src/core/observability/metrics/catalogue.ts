/**
 * Every metric of the process. No other file creates one. The README of `core/observability` has the rules for labels;
 * `docker/` has the alerts and the board that use these names.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import { SERVICE_VERSION } from '../../types/service-version';
import { Histogram } from './histogram';
import { CounterFamily, GaugeFamily, HistogramFamily, SeriesCap } from './series-cap';

const PREFIX = 'gateway_';
/** Of one process. A catalogue of 100 models with 150 deployments of 12 providers needs about 8,100. */
const MAX_SERIES = 10_000;

/** Seconds of whole requests and of calls to providers. */
const REQUEST_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1200,
];
const FIRST_TOKEN_SECONDS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10, 20, 40, 80];
const OUTPUT_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
/** Seconds of the gateway's own work and of its servers. */
const OWN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const JOB_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 86_400];

/** Creates metrics within one registry and one cap on their series. */
abstract class MetricRegistry {
  readonly registry = new Registry();
  protected readonly cap: SeriesCap;
  /** For the metric that counts what the cap drops: as many series as there are metrics. */
  protected readonly uncapped = new SeriesCap(Number.POSITIVE_INFINITY, () => undefined);

  constructor(maxSeries: number) {
    this.cap = new SeriesCap(maxSeries, (metric) => this.seriesDropped.of(metric).inc());
  }

  protected abstract readonly seriesDropped: CounterFamily;

  protected counter(
    name: string,
    help: string,
    labelNames: readonly string[],
    prefix = PREFIX,
    cap = this.cap,
  ): CounterFamily {
    const full = prefix + name;
    const counter: Counter = new Counter({
      name: full,
      help,
      labelNames,
      registers: [this.registry],
      collect: (): void => family.flush(),
    });
    const family: CounterFamily = new CounterFamily(counter, full, labelNames.length, cap);
    return family;
  }

  protected gauge(name: string, help: string, labelNames: readonly string[], prefix = PREFIX): GaugeFamily {
    const full = prefix + name;
    const gauge = new Gauge({ name: full, help, labelNames, registers: [this.registry] });
    return new GaugeFamily(gauge, full, labelNames.length, this.cap);
  }

  protected histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    buckets: readonly number[],
  ): HistogramFamily {
    const full = PREFIX + name;
    const histogram = new Histogram({ name: full, help, labelNames, buckets, registry: this.registry });
    return new HistogramFamily(histogram, full, labelNames.length, buckets.length, this.cap);
  }
}

export class Metrics extends MetricRegistry {
  private readonly sources = new Set<() => void | Promise<void>>();

  constructor({ maxSeries = MAX_SERIES, commit = 'unknown' } = {}) {
    super(maxSeries);
    this.buildInfo.of(SERVICE_VERSION, commit, process.version).set(1);
  }

  // --- Requests
  // -------------------------------------------------------------------------------------------------------
  readonly requests = this.counter(
    'requests_total',
    'Finished inference requests and submissions of jobs, including refused ones',
    ['operation', 'model', 'outcome', 'streamed'],
  );
  readonly requestDuration = this.histogram(
    'request_duration_seconds',
    'From the arrival of an admitted request to its last byte',
    ['operation', 'streamed'],
    REQUEST_SECONDS,
  );
  readonly firstToken = this.histogram(
    'first_token_seconds',
    'From the arrival of a request to the first byte of its streamed response',
    ['model'],
    FIRST_TOKEN_SECONDS,
  );
  readonly outputToken = this.histogram(
    'output_token_seconds',
    'Mean time between two output tokens of a stream',
    ['model'],
    OUTPUT_TOKEN_SECONDS,
  );
  readonly overhead = this.histogram(
    'overhead_seconds',
    'Own time of the gateway: before the first provider call (admit), and after its last byte (finish)',
    ['operation', 'phase'],
    OWN_SECONDS,
  );
  readonly requestsInFlight = this.gauge('requests_in_flight', 'HTTP requests in flight', ['surface']);
  readonly streamsOpen = this.gauge('streams_open', 'Responses that are being streamed', ['surface']);
  readonly dashboardRequests = this.counter('dashboard_requests_total', 'Finished requests of the dashboard API', [
    'route',
    'status_class',
  ]);

  // --- Usage and money
  // ------------------------------------------------------------------------------------------------
  readonly tokens = this.counter(
    'tokens_total',
    'Charged tokens; input includes cache_read and cache_write, output includes reasoning',
    ['model', 'provider', 'direction'],
  );
  readonly mediaUnits = this.counter('media_units_total', 'Charged images, seconds and characters', ['model', 'unit']);
  readonly charged = this.counter('charged_micro_total', 'Committed charges in micro-units', ['model']);
  readonly uncollected = this.counter(
    'uncollected_micro_total',
    'Usage in micro-units that neither hold nor balance covered',
    ['model'],
  );
  readonly usageEstimated = this.counter(
    'usage_estimated_total',
    'Charges from our own count, because the provider reported no usage',
    ['provider'],
  );
  readonly usageRefused = this.counter('usage_refused_total', 'Impossible usage reports', ['provider']);

  // --- Providers
  // ------------------------------------------------------------------------------------------------------
  readonly upstreamAttempts = this.counter('upstream_attempts_total', 'Calls to providers', ['deployment', 'outcome']);
  readonly upstreamDuration = this.histogram(
    'upstream_duration_seconds',
    'Duration of a call to a provider',
    ['provider', 'operation'],
    REQUEST_SECONDS,
  );
  readonly upstreamInFlight = this.gauge(
    'upstream_in_flight',
    'Calls in flight; the limit is PROVIDER_MAX_CONCURRENCY',
    ['provider'],
  );
  readonly fallbacks = this.counter('fallbacks_total', 'Requests served by a deployment other than the first', [
    'model',
  ]);
  readonly deploymentState = this.gauge(
    'deployment_state',
    'Circuit breaker: 0 closed, 1 cooling down after a rate limit, 2 open',
    ['deployment'],
  );
  readonly modelRoutable = this.gauge('model_routable', '0: no deployment can serve the model now', ['model']);
  readonly credentialRefused = this.counter(
    'credential_refused_total',
    'Calls whose credential the provider refused; needs action by the operator',
    ['provider'],
  );

  // --- Rate limits
  // ----------------------------------------------------------------------------------------------------
  readonly limitCalls = this.counter('limit_calls_total', 'Calls of the limit script', ['result']);
  readonly limitRequests = this.counter('limit_requests_total', 'Requests judged by the limit script', ['result']);
  readonly limitCallSeconds = this.histogram(
    'limit_call_seconds',
    'Duration of a call of the limit script',
    [],
    OWN_SECONDS,
  );
  readonly limitRefusals = this.counter('limit_refusals_total', 'Requests that a limit refused', ['scope', 'kind']);

  // --- Ledger
  // ---------------------------------------------------------------------------------------------------------
  readonly moneyCalls = this.counter('money_calls_total', 'Batches sent to the ledger', ['call', 'result']);
  readonly moneyOperations = this.counter('money_operations_total', 'Operations in these batches', ['call', 'result']);
  readonly moneyCallSeconds = this.histogram('money_call_seconds', 'Duration of a batch', ['call'], OWN_SECONDS);
  readonly moneyQueueSize = this.gauge('money_queue_size', 'Operations that wait or are under way', ['queue']);
  readonly moneyQueueOldest = this.gauge('money_queue_oldest_seconds', 'Age of the oldest of them', ['queue']);
  readonly moneyAccountsIsolated = this.gauge(
    'money_accounts_isolated',
    'Accounts that another transaction has locked, processed separately',
    [],
  );
  readonly holdsSwept = this.counter('holds_swept_total', 'Holds ended by the sweeper because their process died', []);
  readonly ledgerViolations = this.gauge(
    'ledger_violations',
    'Broken invariants that the last completed audit found',
    [],
  );
  readonly ledgerAuditTimestamp = this.gauge(
    'ledger_audit_timestamp_seconds',
    'End of the last completed audit, in seconds since the epoch',
    [],
  );
  readonly ledgerAuditDuration = this.gauge(
    'ledger_audit_duration_seconds',
    'Duration of the last completed audit',
    [],
  );
  readonly ledgerArchives = this.counter(
    'ledger_archives_total',
    'Exports of closed days of the ledger to the object storage',
    ['result'],
  );
  readonly idempotency = this.counter('idempotency_total', 'Requests with an Idempotency-Key', ['result']);

  // --- Jobs, webhooks, storage
  // ----------------------------------------------------------------------------------------
  readonly jobs = this.gauge('jobs', 'Unfinished jobs in the database, as a worker last read them', ['kind', 'status']);
  readonly jobsOldestDue = this.gauge('jobs_oldest_due_seconds', 'How long the step of a job is overdue', []);
  readonly jobSteps = this.counter('job_steps_total', 'Steps of jobs that this worker ran', ['step', 'outcome']);
  readonly jobDuration = this.histogram(
    'job_duration_seconds',
    'From the submission of a job to its end',
    ['kind', 'outcome'],
    JOB_SECONDS,
  );
  readonly webhookDeliveries = this.counter('webhook_deliveries_total', 'Attempts to deliver a webhook', ['outcome']);
  readonly webhooksPending = this.gauge('webhooks_pending', 'Webhooks to deliver, as a worker last read them', []);
  readonly storageCalls = this.counter('storage_calls_total', 'Calls to the object storage', ['operation', 'result']);

  // --- Process
  // --------------------------------------------------------------------------------------------------------
  readonly dependencyUp = this.gauge('dependency_up', '1: the last check could use the server', ['name']);
  readonly partitionsUntil = this.gauge(
    'partitions_until_timestamp_seconds',
    'First instant, in seconds since the epoch, for which a table by day has no partition of that day yet',
    [],
  );
  readonly databaseConnections = this.gauge('database_connections', 'Connections to PostgreSQL', ['pool', 'state']);
  readonly eventLoopUtilization = this.gauge(
    'event_loop_utilization',
    'Share of the last 10 s in which the event loop was busy',
    [],
  );
  readonly eventLoopDelay = this.gauge('event_loop_delay_seconds', 'Delay of timers in the last 10 s', ['quantile']);
  readonly bodyBytes = this.gauge('body_bytes', 'Memory of all request bodies; the limit is MAX_BUFFERED_BYTES', []);
  readonly responseBytes = this.gauge(
    'response_bytes',
    'Memory of images from providers and of replays until they are sent; the limit is MAX_BUFFERED_BYTES',
    [],
  );
  readonly overloadRejections = this.counter('overload_rejections_total', 'Requests refused because of overload', []);
  readonly draining = this.gauge('draining', '1: the process is shutting down', []);
  readonly logins = this.counter('logins_total', 'Logins to the dashboard', ['outcome']);
  readonly purchases = this.counter('purchases_total', 'Changes of state of credit purchases', ['outcome']);
  readonly tracesExported = this.counter('traces_exported_total', 'Spans that the collector accepted', []);
  readonly tracesDropped = this.counter('traces_dropped_total', 'Spans that were lost', []);
  readonly logLinesSuppressed = this.counter(
    'log_lines_suppressed_total',
    'Lines that were not written because of their number',
    ['event'],
  );
  readonly series = this.gauge('series', 'Time series of this process; at most 10,000', []);
  protected readonly seriesDropped = this.counter(
    'series_dropped_total',
    'Observations without a series of their own, because there are too many',
    ['metric'],
    PREFIX,
    this.uncapped,
  );
  private readonly buildInfo = this.gauge('build_info', 'Always 1', ['version', 'commit', 'node']);

  // --- Under their usual names
  // ----------------------------------------------------------------------------------------
  readonly processCpu = this.counter('process_cpu_seconds_total', 'CPU time in seconds', [], '');
  readonly processMemory = this.gauge('process_resident_memory_bytes', 'Resident memory', [], '');
  readonly processOpenFiles = this.gauge('process_open_fds', 'Open file descriptors', [], '');
  readonly processStart = this.gauge('process_start_time_seconds', 'Start of the process since the epoch', [], '');
  readonly heapUsed = this.gauge('nodejs_heap_size_used_bytes', 'Memory of JavaScript objects', [], '');
  readonly externalMemory = this.gauge('nodejs_external_memory_bytes', 'Memory of buffers', [], '');

  /** Number of time series. */
  get size(): number {
    return this.cap.size;
  }

  /** Runs `source` before every scrape, to set gauges. Returns the function that ends this. */
  addSource(source: () => void | Promise<void>): () => void {
    this.sources.add(source);
    return () => this.sources.delete(source);
  }

  /** Brings the gauges up to date. A source that fails leaves its gauges as they were. */
  async refresh(): Promise<void> {
    await Promise.allSettled([...this.sources].map(async (source) => source()));
    this.series.of().set(this.size);
  }
}
