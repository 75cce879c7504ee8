import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { renderMetrics } from '../../../src/core/observability/metrics/exposition';
import { Tracing } from '../../../src/core/observability/traces/tracing';
import { attributesOf, type ReceivedSpan, SpanCollector } from '../../harness/span-collector';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { createCatalog } from '../../harness/upstream-models';
import { answerWhole, until } from '../idempotency/keyed-gateway';

const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = (flags: string): string => `00-${PARENT.traceId}-${PARENT.spanId}-${flags}`;

let collector: SpanCollector;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  collector = await SpanCollector.start();
  gateway = await TestGateway.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=collector-token',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  collector.stop();
});
beforeEach(() => {
  collector.spans.length = 0;
});

const chat = (headers: Record<string, string>, body: object = {}, key = customer.key) =>
  gateway.call('/v1/chat/completions', {
    key,
    headers,
    body: { model: 'mock/chat-1', messages: [{ role: 'user', content: 'a private prompt' }], ...body },
  });

/** The spans of all requests so far, by name. */
async function exported(): Promise<Map<string, ReceivedSpan>> {
  await gateway.app.get(Tracing, { strict: false }).flush();
  return new Map(collector.spans.map((span) => [span.name, span]));
}

describe('the trace of a request', () => {
  it.each([
    ['a stream', true],
    ['a complete response', false],
  ])('of %s has a span for limits, hold, call and charge below that of the request', async (_what, stream) => {
    const reply = await chat({ traceparent: traceparent('01') }, { stream });
    expect(reply.status).toBe(200);
    await until(async () => (await exported()).has('POST /v1/chat/completions'));
    const spans = await exported();
    const names = ['POST /v1/chat/completions', 'limits', 'hold', 'chat mock/chat-1', 'settle'];
    expect([...spans.keys()].toSorted()).toEqual(names.toSorted());
    const request = spans.get('POST /v1/chat/completions') as ReceivedSpan;
    const children = names.slice(1).map((name) => spans.get(name) as ReceivedSpan);
    // Kinds: 1 internal, 2 server, 3 client.
    expect([request.kind, ...children.map(({ kind }) => kind)]).toEqual([2, 1, 1, 3, 1]);
    expect([request.traceId, request.parentSpanId]).toEqual([PARENT.traceId, PARENT.spanId]);
    for (const child of children) {
      expect([child.traceId, child.parentSpanId]).toEqual([PARENT.traceId, request.spanId]);
      expect(BigInt(child.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(request.startTimeUnixNano));
      expect(BigInt(child.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(child.startTimeUnixNano));
    }
    expect(attributesOf(request)).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gateway.request_id': reply.headers.get('x-request-id'),
      'gateway.organization_id': customer.organizationId,
      'gateway.operation': 'createChatCompletion',
      'gateway.model': 'mock/chat-1',
      'gateway.streamed': stream,
      'gateway.attempts': 1,
    });
    expect(attributesOf(spans.get('hold') as ReceivedSpan)).toMatchObject({
      'gateway.hold_micro': attributesOf(request)['gateway.hold_micro'],
      'gateway.money.result': 'held',
    });
    expect(attributesOf(spans.get('chat mock/chat-1') as ReceivedSpan)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mock',
      'gen_ai.request.stream': stream,
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'gen_ai.usage.cache_write.input_tokens': 0,
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(JSON.stringify(collector.spans)).not.toMatch(/a private prompt|127\.0\.0\.1|sk-llm-/);
    expect(new Set(collector.headers)).toEqual(new Set(['collector-token']));
  });

  it('of a refused request names the code of the error', async () => {
    const reply = await chat({ traceparent: traceparent('01') }, { model: 'mock/unknown' });
    expect(reply.status).toBe(404);
    const name = 'POST /v1/chat/completions';
    await until(async () => (await exported()).has(name));
    const request = (await exported()).get(name) as ReceivedSpan;
    expect(attributesOf(request)).toMatchObject({
      'http.response.status_code': 404,
      'error.type': 'model_not_found',
    });
  });

  it('of a request over a limit names the scope that refused it', async () => {
    const limited = await gateway.customer({ requestsPerMinute: 1 });
    const send = (): ReturnType<typeof chat> => chat({ traceparent: traceparent('01') }, {}, limited.key);
    await send();
    collector.spans.length = 0;
    expect((await send()).status).toBe(429);
    await until(async () => (await exported()).has('POST /v1/chat/completions'));
    const limits = (await exported()).get('limits') as ReceivedSpan;
    expect(attributesOf(limits)).toEqual({ 'gateway.limit.refused_by': 'key', 'error.type': 'rate_limited' });
  });

  it('of a request without credit names the refused hold', async () => {
    const poor = await gateway.customer({}, 0n);
    expect((await chat({ traceparent: traceparent('01') }, {}, poor.key)).status).toBe(402);
    await until(async () => (await exported()).has('POST /v1/chat/completions'));
    const hold = (await exported()).get('hold') as ReceivedSpan;
    expect(attributesOf(hold)).toMatchObject({
      'gateway.hold_micro': expect.any(Number),
      'gateway.money.result': 'refused',
      'error.type': 'insufficient_credits',
    });
  });

  it('of a replayed request has one step, the look-up of the key', async () => {
    const key = { 'idempotency-key': 'traced-once', traceparent: traceparent('01') };
    await chat(key);
    await until(async () => (await exported()).has('settle'));
    expect([...(await exported()).keys()]).toContain('store response');
    collector.spans.length = 0;
    const replay = await chat(key);
    await until(async () => (await exported()).has('POST /v1/chat/completions'));
    const spans = await exported();
    expect([...spans.keys()].toSorted()).toEqual(['POST /v1/chat/completions', 'idempotency']);
    expect(attributesOf(spans.get('idempotency') as ReceivedSpan)).toMatchObject({
      'gateway.idempotency': 'replayed',
      'gateway.bytes': expect.any(Number),
    });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });

  it.each([
    ['the caller does not sample', { traceparent: traceparent('00') }],
    ['the caller sends no trace and the ratio is 0', {}],
    ['the header is not valid', { traceparent: '00-0-0-01' }],
  ])('is not made when %s', async (_when, headers) => {
    expect((await chat(headers as Record<string, string>)).status).toBe(200);
    expect((await exported()).size).toBe(0);
  });
});

describe('traceparent', () => {
  it.each([
    ['goes to a provider of TRACE_PROPAGATE_TO, with the span of the call', 'openai-compatible', true],
    ['goes to no other provider', 'vllm', false],
  ])('%s', async (_title, propagateTo, isSent) => {
    const upstream = await FakeUpstream.start();
    const catalog = createCatalog();
    const traced = await TestGateway.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: '0',
      TRACE_PROPAGATE_TO: propagateTo,
      OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
      CATALOG_DIR: catalog.path,
    });
    const sent: (string | undefined)[] = [];
    upstream.answer = (response, { headers }) => {
      sent.push(headers.traceparent as string | undefined);
      answerWhole(response, 'Hello', { model: 'model-2026-11-01' });
    };
    const { key } = await traced.customer();
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'hi' }] };
    await traced.call('/v1/chat/completions', { key, headers: { traceparent: traceparent('01') }, body });
    const findCall = async (): Promise<ReceivedSpan | undefined> => {
      await traced.app.get(Tracing, { strict: false }).flush();
      return collector.spans.find(({ name }) => name === 'chat local/chat');
    };
    await until(async () => (await findCall()) !== undefined);
    const call = await findCall();
    expect(attributesOf(call as ReceivedSpan)).toMatchObject({
      'gen_ai.response.model': 'model-2026-11-01',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(upstream.origin).port),
    });
    expect(sent).toEqual([isSent ? `00-${PARENT.traceId}-${call?.spanId}-01` : undefined]);
    await traced.stop();
    await upstream.stop();
    catalog.remove();
  });
});

describe('a collector', () => {
  const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }] };

  it.each<[string, (down: SpanCollector) => void]>([
    ['refuses connections', (down) => down.stop()],
    ['never answers', (down) => down.hang()],
  ])('that %s harms no request, and its lost spans are counted', async (_what, takeDown) => {
    const down = await SpanCollector.start();
    const alone = await TestGateway.start({ OTEL_EXPORTER_OTLP_ENDPOINT: down.url, OTEL_TRACES_SAMPLER_ARG: '1' });
    const { key } = await alone.customer();
    const { registry } = alone.app.get(Metrics, { strict: false });
    const send = async (): Promise<void> => {
      expect((await alone.call('/v1/chat/completions', { key, body })).status).toBe(200);
      await alone.app.get(Tracing, { strict: false }).flush();
    };
    await send();
    await until(async () => /gateway_traces_exported_total [1-9]/.test(await renderMetrics(registry)));
    expect(await renderMetrics(registry)).toMatch(/gateway_traces_dropped_total 0/);
    const received = down.spans.length;
    takeDown(down);
    await send();
    await until(async () => /gateway_traces_dropped_total [1-9]/.test(await renderMetrics(registry)));
    expect(down.spans).toHaveLength(received);
    await alone.stop();
    down.stop();
  });
});
