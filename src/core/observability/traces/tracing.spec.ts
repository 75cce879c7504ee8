import { SpanCollector } from '../../../../test/harness/span-collector';
import { loadConfig } from '../../config/load-config';
import { systemClock } from '../../time/clock';
import { inStep, type RequestTrace } from '../../types/trace';
import { Metrics } from '../metrics/catalogue';
import { Tracing, traceFieldsOf } from './tracing';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';

describe('what a log line says about the trace of its request', () => {
  it('is trace and span where the request is traced', () => {
    const trace = { traceId: TRACE_ID, spanId: SPAN_ID } as RequestTrace;
    const traceparent = `00-${'1'.repeat(32)}-${SPAN_ID}-01`;
    expect(traceFieldsOf({ trace, traceparent })).toEqual({ trace_id: TRACE_ID, span_id: SPAN_ID });
  });

  it.each([
    ["is the caller's trace where the caller does not sample", `00-${TRACE_ID}-${SPAN_ID}-00`, { trace_id: TRACE_ID }],
    ['is nothing where the header is not valid', `00-${TRACE_ID}-${'0'.repeat(16)}-01`, {}],
    ['is nothing where the caller sends none', undefined, {}],
  ])('%s', (_title, traceparent, fields) => {
    expect(traceFieldsOf({ trace: null, traceparent })).toEqual(fields);
  });
});

describe('a flush', () => {
  it('sends every batch that waits', async () => {
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
  // CPU time of the quickest of many rounds: other work on the machine slows down all but some of them, and V8 compiles the
  // code on threads of its own during the first ones.
  const ROUNDS = 50;
  /** Of five spans each, which the queue holds. */
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

  it.each([
    ['nothing without a collector', null, 0, 1],
    ['at most 3 µs of CPU for a request while 1 % is traced', 'collector', 0.01, 3],
    ['at most 60 µs of CPU for a traced request, without sending', 'collector', 1, 60],
  ])('is %s', async (_title, where, ratio, limitMicroseconds) => {
    const collector = where === null ? null : await SpanCollector.start();
    const { traces } = loadConfig({
      OTEL_TRACES_SAMPLER_ARG: String(ratio),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector?.url,
    });
    const tracing = await Tracing.connect({ traces }, new Metrics(), systemClock);
    const microseconds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = process.cpuUsage();
      for (let index = 0; index < REQUESTS_PER_ROUND; index++) await request(tracing);
      const { user, system } = process.cpuUsage(before);
      microseconds.push((user + system) / REQUESTS_PER_ROUND);
      await tracing.flush();
    }
    collector?.stop();
    const least = Math.min(...microseconds);
    process.stdout.write(`tracing ${ratio * 100} % of the requests: ${least.toFixed(2)} µs of CPU each\n`);
    expect(least).toBeLessThanOrEqual(limitMicroseconds);
  });
});
