import { Logger } from '@nestjs/common';
import { Metrics } from '../core/observability/metrics/catalogue';
import { renderMetrics } from '../core/observability/metrics/exposition';
import { NO_USAGE } from '../providers/contract/usage';
import type { Candidate } from './inference.types';
import { type EndedFields, type EndedRequest, RequestLog, RequestMetrics } from './request-metrics';

const model = { id: 'vendor/model' };
const candidate = {
  model,
  provider: { id: 'vendor' },
  deployment: { id: 'd', provider: 'vendor', upstreamModel: 'upstream' },
} as unknown as Candidate;

/** A stream of 101 output tokens in two seconds, the first one after half a second. */
const STREAM = {
  record: {
    id: '01a1fefd-b7c6-77b7-856a-7a2d456e08a6',
    operation: 'createChatCompletion',
    status: 200,
    errorCode: null,
    streamed: true,
    usageEstimated: false,
    firstTokenMs: 500,
    usage: { ...NO_USAGE, inputText: 7, inputCacheRead: 3, outputText: 91, outputReasoning: 10 },
  },
  result: { applied: true, chargedMicro: 12n, uncollectedMicro: 0n },
  candidates: [candidate],
  served: candidate,
  servedModel: model,
  totalMs: 2_000,
  admitMs: 3,
  finishMs: 4,
  context: { trace: null },
} as unknown as EndedRequest;

async function samplesAfter(record: (requests: RequestMetrics) => void): Promise<string[]> {
  const metrics = new Metrics();
  record(new RequestMetrics(metrics, new RequestLog({ logRequests: 'none' })));
  return (await renderMetrics(metrics.registry)).split('\n');
}

describe('an admitted request', () => {
  it('logs the trace id of a caller that sends traceparent', () => {
    const write = jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
    new RequestMetrics(new Metrics(), new RequestLog({ logRequests: 'all' })).recordEnd({
      ...STREAM,
      context: { trace: null, traceparent },
    });
    expect(write.mock.calls).toMatchObject([[{ trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }]]);
    write.mockRestore();
  });

  it('is recorded with its outcome, times, tokens by direction and charge', async () => {
    const lines = await samplesAfter((requests) => {
      requests.recordEnd(STREAM);
      requests.recordAttempt(candidate, 'createChatCompletion', 'success', 1_990);
    });
    expect(lines).toEqual(
      expect.arrayContaining([
        'gateway_requests_total{operation="createChatCompletion",model="vendor/model",outcome="success",streamed="true"} 1',
        'gateway_request_duration_seconds_sum{operation="createChatCompletion",streamed="true"} 2',
        'gateway_first_token_seconds_sum{model="vendor/model"} 0.5',
        'gateway_output_token_seconds_sum{model="vendor/model"} 0.015',
        'gateway_overhead_seconds_sum{operation="createChatCompletion",phase="admit"} 0.003',
        'gateway_overhead_seconds_sum{operation="createChatCompletion",phase="finish"} 0.004',
        'gateway_tokens_total{model="vendor/model",provider="vendor",direction="input"} 10',
        'gateway_tokens_total{model="vendor/model",provider="vendor",direction="cache_read"} 3',
        'gateway_tokens_total{model="vendor/model",provider="vendor",direction="output"} 101',
        'gateway_tokens_total{model="vendor/model",provider="vendor",direction="reasoning"} 10',
        'gateway_charged_micro_total{model="vendor/model"} 12',
        'gateway_upstream_attempts_total{deployment="vendor:upstream",outcome="success"} 1',
        'gateway_upstream_duration_seconds_sum{provider="vendor",operation="createChatCompletion"} 1.99',
      ]),
    );
  });

  it('is recorded as internal_error without usage when its charge could not be committed', async () => {
    const lines = await samplesAfter((requests) => requests.recordEnd({ ...STREAM, result: null }));
    const ofRequests = lines.filter((line) => /^gateway_(requests|tokens)_total\{/.test(line));
    expect(ofRequests).toEqual([
      'gateway_requests_total{operation="createChatCompletion",model="vendor/model",outcome="internal_error",streamed="true"} 1',
    ]);
  });

  it('counts a fallback when a later deployment served it, and counts uncovered usage', async () => {
    const other = { ...candidate } as Candidate;
    const result = { applied: true, chargedMicro: 12n, uncollectedMicro: 5n };
    const lines = await samplesAfter((requests) =>
      requests.recordEnd({ ...STREAM, result, candidates: [other, candidate] }),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        'gateway_fallbacks_total{model="vendor/model"} 1',
        'gateway_uncollected_micro_total{model="vendor/model"} 5',
      ]),
    );
  });
});

describe('the cost of all observations of a stream', () => {
  // CPU time of the quickest of many rounds: other work on the machine slows down all but some of them.
  const ROUNDS = 40;
  const STREAMS_PER_ROUND = 5_000;
  const LIMIT_MICROSECONDS = 6;

  it(`is at most ${LIMIT_MICROSECONDS} µs of CPU`, () => {
    const requests = new RequestMetrics(new Metrics(), new RequestLog({ logRequests: 'none' }));
    const microseconds = Array.from({ length: ROUNDS }, () => {
      const before = process.cpuUsage();
      for (let index = 0; index < STREAMS_PER_ROUND; index++) {
        requests.recordEnd(STREAM);
        requests.recordAttempt(candidate, 'createChatCompletion', 'success', 1_990);
      }
      const { user, system } = process.cpuUsage(before);
      return (user + system) / STREAMS_PER_ROUND;
    });
    const least = Math.min(...microseconds);
    process.stdout.write(`all observations of one stream: ${least.toFixed(2)} µs of CPU\n`);
    expect(least).toBeLessThan(LIMIT_MICROSECONDS);
  });
});

const OUTCOMES = ['success', 'canceled', 'rate_limit_error', 'provider_error', 'timeout_error', 'internal_error'];
const FAILED = ['provider_error', 'timeout_error', 'internal_error'];

describe('LOG_REQUESTS', () => {
  it.each([
    ['none', ['internal_error']],
    ['failures', FAILED],
    ['all', OUTCOMES],
  ] as const)('%s writes request_ended for %j', (mode, expected) => {
    const write = jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    const log = new RequestLog({ logRequests: mode });
    for (const outcome of OUTCOMES) log.write(outcome, () => ({ request_id: 'req_1' }) as EndedFields);
    const lines = write.mock.calls.map(([line]) => line as { event: string; outcome: string; request_id: string });
    expect(lines.map(({ outcome }) => outcome)).toEqual(expected);
    expect(lines.every(({ event, request_id: id }) => event === 'request_ended' && id === 'req_1')).toBe(true);
    write.mockRestore();
  });
});
