import { SpanCollector } from '../../../../test/harness/span-collector';
import { loadConfig } from '../../config/load-config';
import { systemClock } from '../../time/clock';
import { inStep, type RequestTrace } from '../../types/trace';
import { Metrics } from '../metrics/catalogue';
import { openSpanExport, type SpanExport } from './span-export';
import { Tracing, traceFieldsOf } from './tracing';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';

describe('the trace fields of a log line', () => {
  it('are trace_id and span_id when the request is traced', () => {
    const trace = { traceId: TRACE_ID, spanId: SPAN_ID } as RequestTrace;
    const traceparent = `00-${'1'.repeat(32)}-${SPAN_ID}-01`;
    expect(traceFieldsOf({ trace, traceparent })).toEqual({ trace_id: TRACE_ID, span_id: SPAN_ID });
  });

  it.each([
    [
      "have the caller's trace_id when the caller does not sample",
      `00-${TRACE_ID}-${SPAN_ID}-00`,
      { trace_id: TRACE_ID },
    ],
    ['are absent when traceparent is invalid', `00-${TRACE_ID}-${'0'.repeat(16)}-01`, {}],
    ['are absent without traceparent', undefined, {}],
  ])('%s', (_title, traceparent, fields) => {
    expect(traceFieldsOf({ trace: null, traceparent })).toEqual(fields);
  });
});

describe('a flush', () => {
  it('sends every queued batch', async () => {
    const collector = await SpanCollector.start();
    const { traces } = loadConfig({ OTEL_TRACES_SAMPLER_ARG: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const metrics = new Metrics();
    const tracing = await Tracing.connect({ traces }, metrics, systemClock);
    for (let index = 0; index < 2_000; index++) tracing.begin('request', undefined, 0)?.close(1, {}, false);
    await tracing.flush();
    collector.stop();
    expect(collector.spans).toHaveLength(2_000);
    expect(await metrics.registry.getSingleMetricAsString('gateway_traces_exported_total')).toMatch(/ 2000\n?$/);
    expect(await metrics.registry.getSingleMetricAsString('gateway_traces_dropped_total')).toMatch(/ 0\n?$/);
  });
});

describe('the cost of tracing', () => {
  // CPU time of the quickest of many rounds: other work on the machine slows down all but some of them, and V8 compiles
  // the code on threads of its own during the first ones.
  const ROUNDS = 20;
  /** Five spans each: few enough for the queue. */
  const REQUESTS_PER_ROUND = 400;

  const FACTS = {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gateway.request_id': 'req_01a1fefdb7c677b7856a7a2d456e08a6',
    'gateway.model': 'vendor/model',
    'gateway.streamed': true,
    'gateway.hold_micro': 1_000,
    'gateway.charged_micro': 900,
  };
  const CALL = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'model-1',
    'gen_ai.request.stream': true,
    'server.address': 'api.example.com',
    'server.port': 443,
  };
  const USAGE = {
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.response.model': 'model-1',
  };

  async function request(tracing: Tracing): Promise<void> {
    const trace = tracing.begin('POST /v1/chat/completions', undefined, systemClock.monotonic());
    await inStep(trace, 'limits', () => Promise.resolve());
    await inStep(trace, 'hold', () => Promise.resolve(), { done: () => ({ 'gateway.money.result': 'held' }) });
    trace?.begin('chat vendor/model', 'client', systemClock.monotonic(), CALL).end(systemClock.monotonic(), USAGE);
    await inStep(trace, 'settle', () => Promise.resolve(), { done: () => ({ 'gateway.money.result': 'charged' }) });
    trace?.close(systemClock.monotonic(), FACTS, false);
  }

  /** The spans of {@link request}, made with the SDK alone. */
  function bareRequest({ tracer, api }: SpanExport): void {
    const root = tracer.startSpan('POST /v1/chat/completions', { kind: api.SpanKind.SERVER }, api.ROOT_CONTEXT);
    const context = api.trace.setSpan(api.ROOT_CONTEXT, root);
    const steps = {
      limits: {},
      hold: { 'gateway.money.result': 'held' },
      settle: { 'gateway.money.result': 'charged' },
    };
    for (const [name, attributes] of Object.entries(steps)) {
      const step = tracer.startSpan(name, { kind: api.SpanKind.INTERNAL }, context);
      step.setAttributes(attributes);
      step.end();
    }
    const call = tracer.startSpan('chat vendor/model', { kind: api.SpanKind.CLIENT, attributes: CALL }, context);
    call.setAttributes(USAGE);
    call.end();
    root.setAttributes(FACTS);
    root.end();
  }

  it('is little more than that of the same spans of OpenTelemetry for a traced request, and almost nothing for others', async () => {
    const collector = await SpanCollector.start();
    const metrics = new Metrics();
    const tracesOf = (ratio: number, endpoint?: string) =>
      loadConfig({ OTEL_TRACES_SAMPLER_ARG: String(ratio), OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    const [off, sampled, all] = await Promise.all([
      Tracing.connect(tracesOf(1), metrics, systemClock),
      Tracing.connect(tracesOf(0.01, collector.url), metrics, systemClock),
      Tracing.connect(tracesOf(1, collector.url), metrics, systemClock),
    ]);
    const bare = await openSpanExport(tracesOf(1).traces, collector.url, metrics);
    const subjects = {
      off: { work: () => request(off), flush: () => off.flush() },
      sampled: { work: () => request(sampled), flush: () => sampled.flush() },
      all: { work: () => request(all), flush: () => all.flush() },
      bare: { work: () => bareRequest(bare), flush: () => bare.flush() },
    };
    const least = { off: Infinity, sampled: Infinity, all: Infinity, bare: Infinity };
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of ['off', 'sampled', 'all', 'bare'] as const) {
        const { work, flush } = subjects[name];
        const before = process.cpuUsage();
        for (let index = 0; index < REQUESTS_PER_ROUND; index++) await work();
        const { user, system } = process.cpuUsage(before);
        least[name] = Math.min(least[name], (user + system) / REQUESTS_PER_ROUND);
        await flush();
      }
    }
    collector.stop();
    process.stdout.write(`tracing, µs of CPU per request: ${JSON.stringify(least)}\n`);
    expect(least.all / least.bare).toBeLessThan(2.5);
    expect(least.sampled / least.bare).toBeLessThan(0.1);
    expect(least.off / least.bare).toBeLessThan(0.05);
  });
});
