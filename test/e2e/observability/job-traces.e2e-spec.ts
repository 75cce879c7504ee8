import { Tracing } from '../../../src/core/observability/traces/tracing';
import { PIXEL, PublicHost, respondWith } from '../../harness/public-host';
import { attributesOf, type ReceivedSpan, SpanCollector } from '../../harness/span-collector';
import { JobGateway, VIDEO } from '../create-video/job-gateway';
import { until } from '../idempotency/keyed-gateway';

const ORIGIN = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

let collector: SpanCollector;
let served: JobGateway;
let host: PublicHost;

beforeAll(async () => {
  collector = await SpanCollector.start();
  host = await PublicHost.start();
  host.answer = (response, { method }) => {
    if (method === 'GET') respondWith(response, PIXEL);
    else response.writeHead(204).end();
  };
  served = await JobGateway.start({
    WORKER: 'inline',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
});
afterAll(async () => {
  await served.stop();
  await host.stop();
  collector.stop();
});
beforeEach(() => {
  collector.spans.length = 0;
});

function submit(headers: Record<string, string>, key: string) {
  return served.gateway.call(VIDEO, {
    key: served.customer.key,
    headers: { 'idempotency-key': key, ...headers },
    body: {
      model: 'mock/video-1',
      prompt: 'a private boat',
      duration_seconds: 1,
      image_url: host.url('/first.png'),
      webhook_url: host.url('/hook?token=private'),
    },
  });
}

async function flushed(): Promise<readonly ReceivedSpan[]> {
  await served.gateway.app.get(Tracing, { strict: false }).flush();
  return collector.spans;
}

describe('the trace of a job', () => {
  it('has a span for each step and for its webhook, linked to the submission', async () => {
    const { status, json } = await submit({ traceparent: ORIGIN }, 'traced-job');
    expect(status).toBe(202);
    await until(async () => (await flushed()).some(({ name }) => name === 'webhook'));
    const spans = await flushed();
    const named = (name: string): readonly ReceivedSpan[] => spans.filter((span) => span.name === name);
    const [submission] = named(`POST ${VIDEO}`);
    for (const name of ['idempotency', 'limits', 'hold']) {
      expect(named(name).map(({ parentSpanId }) => parentSpanId)).toEqual([submission?.spanId]);
    }
    for (const name of ['job inputs', 'job submit', 'job poll', 'webhook']) {
      expect(named(name).length).toBeGreaterThan(0);
      for (const span of named(name)) {
        expect(span.parentSpanId ?? '').toBe('');
        expect(span.links).toMatchObject([{ traceId: submission?.traceId, spanId: submission?.spanId }]);
        expect(attributesOf(span)).toMatchObject({ 'gateway.job_id': json.id });
      }
    }
    expect(attributesOf(named('job submit')[0] as ReceivedSpan)).toMatchObject({
      'gateway.kind': 'video',
      'gateway.provider': 'mock-media',
    });
    expect(attributesOf(named('webhook')[0] as ReceivedSpan)).toMatchObject({
      'gateway.event': 'job.completed',
      'gateway.attempt': 1,
      'http.response.status_code': 204,
    });
    expect(attributesOf(named('job finalize')[0] as ReceivedSpan)).toEqual({ 'gateway.outcome': 'ended' });
    const steps = new Map(
      [...named('job inputs'), ...named('job submit'), ...named('job poll')].map((span) => [span.spanId, span.name]),
    );
    const parentsOf = (name: string): readonly (string | undefined)[] =>
      named(name).map(({ parentSpanId }) => steps.get(parentSpanId ?? ''));
    expect(parentsOf('download')).toEqual(['job inputs', 'job poll']);
    expect(parentsOf('store object')).toEqual(['job inputs', 'job poll']);
    expect(parentsOf('read object')).toEqual(['job submit']);
    expect(JSON.stringify(spans)).not.toMatch(/private|127\.0\.0\.1|sk-llm-/);
  });

  it('does not exist where the submission was not traced', async () => {
    const { json } = await submit({}, 'untraced-job');
    await until(async () => (await served.getJob(json.id as string)).json.completed_at !== null);
    expect(await flushed()).toEqual([]);
  });
});
