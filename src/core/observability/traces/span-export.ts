import type * as Api from '@opentelemetry/api' with { 'resolution-mode': 'import' };
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace' with {
  'resolution-mode': 'import',
};
import type { AppConfig } from '../../config/app-config';
import { SERVICE_VERSION } from '../../types/service-version';
import type { Metrics } from '../metrics/catalogue';

type TraceSettings = AppConfig['traces'];

/** The spans of about 4,096 requests. A full queue drops new spans. */
const MAX_QUEUED_SPANS = 24_576;
const BATCH = 512;
const BATCH_EVERY_MS = 2_000;
/** Time limit for one batch, with its retries. */
const EXPORT_TIMEOUT_MS = 5_000;

export interface SpanExport {
  readonly tracer: Api.Tracer;
  readonly api: Pick<typeof Api, 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'trace'>;
  /** Sends the queued spans. */
  flush(): Promise<void>;
}

/** Loads the SDK of OpenTelemetry and opens an exporter to the collector. */
export async function openSpanExport(settings: TraceSettings, endpoint: string, metrics: Metrics): Promise<SpanExport> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const queue = new CountedQueue(metrics);
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    headers: { ...settings.headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
    // A flush hands over all batches at once, which wait for the one connection. The exporter drops those beyond its
    // limit.
    concurrencyLimit: Math.ceil(MAX_QUEUED_SPANS / BATCH) + 1,
    httpAgentOptions: { keepAlive: true, maxSockets: 1 },
  });
  const batches = new sdk.BatchSpanProcessor({
    exporter: queue.counting(exporter),
    maxQueueSize: MAX_QUEUED_SPANS,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: BATCH_EVERY_MS,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new sdk.TracerProvider({
    // Requests are sampled before their spans get here.
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [queue.limiting(batches)],
    resource: resourceFromAttributes({
      ...settings.resource,
      'service.name': settings.serviceName,
      'service.version': SERVICE_VERSION,
    }),
  });
  return {
    api,
    tracer: provider.getTracer('inference-gateway', SERVICE_VERSION),
    flush: () => provider.forceFlush(),
  };
}

/** Counts spans on their way, so that each is exported or counted as dropped: the SDK drops silently. */
class CountedQueue {
  private queued = 0;

  constructor(private readonly metrics: Metrics) {}

  limiting(next: SpanProcessor): SpanProcessor {
    return {
      onStart: (span, context) => next.onStart(span, context),
      onEnd: (span) => {
        if (this.queued >= MAX_QUEUED_SPANS) {
          this.metrics.tracesDropped.of().inc();
          return;
        }
        this.queued++;
        next.onEnd(span);
      },
      forceFlush: () => next.forceFlush(),
      shutdown: () => next.shutdown(),
    };
  }

  counting(exporter: SpanExporter): SpanExporter {
    const { tracesExported, tracesDropped } = this.metrics;
    return {
      export: (spans: ReadableSpan[], done) =>
        exporter.export(spans, (result) => {
          this.queued -= spans.length;
          (result.code === 0 ? tracesExported : tracesDropped).of().inc(spans.length);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    };
  }
}
