import { randomUUID } from 'node:crypto';
import { ManagementServer } from '../../../src/http/management-server';
import { JobGauges } from '../../../src/media-jobs/worker/job-gauges';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { tinyPng } from '../../conformance/media-answers';
import { formWith } from '../create-transcription/sound-file';
import { until } from '../idempotency/keyed-gateway';

/** Exactly the metrics that alerts, the board and the recording rules may use. */
const CATALOGUE = `
  gateway_requests_total gateway_request_duration_seconds gateway_first_token_seconds gateway_output_token_seconds
  gateway_overhead_seconds gateway_requests_in_flight gateway_streams_open gateway_dashboard_requests_total
  gateway_tokens_total gateway_media_units_total gateway_charged_micro_total gateway_uncollected_micro_total
  gateway_usage_estimated_total gateway_usage_refused_total gateway_upstream_attempts_total
  gateway_upstream_duration_seconds gateway_upstream_in_flight gateway_fallbacks_total gateway_deployment_state
  gateway_model_routable gateway_credential_refused_total gateway_limit_calls_total gateway_limit_requests_total
  gateway_limit_call_seconds gateway_limit_refusals_total gateway_money_calls_total gateway_money_operations_total
  gateway_money_call_seconds gateway_money_queue_size gateway_money_queue_oldest_seconds
  gateway_money_accounts_isolated gateway_holds_swept_total gateway_ledger_violations
  gateway_ledger_audit_timestamp_seconds gateway_ledger_audit_duration_seconds gateway_ledger_archives_total
  gateway_idempotency_total gateway_jobs
  gateway_jobs_oldest_due_seconds gateway_job_steps_total gateway_job_duration_seconds
  gateway_webhook_deliveries_total gateway_webhooks_pending gateway_storage_calls_total gateway_dependency_up
  gateway_partitions_until_timestamp_seconds gateway_database_connections gateway_event_loop_utilization gateway_event_loop_delay_seconds gateway_body_bytes
  gateway_response_bytes gateway_overload_rejections_total gateway_draining gateway_logins_total gateway_purchases_total
  gateway_traces_exported_total gateway_traces_dropped_total gateway_log_lines_suppressed_total gateway_series
  gateway_series_dropped_total gateway_build_info process_cpu_seconds_total process_resident_memory_bytes
  process_open_fds process_start_time_seconds nodejs_heap_size_used_bytes nodejs_external_memory_bytes`
  .trim()
  .split(/\s+/);

/** They count faults, which the walk does not cause, or have their own tests. */
const WITHOUT_SAMPLES = [
  'gateway_uncollected_micro_total',
  'gateway_usage_estimated_total',
  'gateway_usage_refused_total',
  'gateway_fallbacks_total',
  'gateway_credential_refused_total',
  'gateway_limit_refusals_total',
  'gateway_ledger_archives_total',
  'gateway_webhook_deliveries_total',
  'gateway_purchases_total',
  'gateway_log_lines_suppressed_total',
  'gateway_series_dropped_total',
];

let gateway: TestGateway;
let management: ManagementServer;
let managementUrl: string;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start({ MOCK_MEDIA_PROVIDER: 'true', LIMIT_KEY_REQUESTS_PER_MINUTE: '1000000' });
  management = gateway.app.get(ManagementServer, { strict: false });
  managementUrl = await management.listen('127.0.0.1', 0);
  customer = await gateway.customer();
});
afterAll(async () => {
  await management.close();
  await gateway.stop();
});

const scrape = async (): Promise<string> => (await fetch(`${managementUrl}/metrics`)).text();

/** `name{labels}` of every sample. */
async function seriesOf(): Promise<Set<string>> {
  const lines = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))));
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.call(path, { key: customer.key, body, headers });

const chat = (body: object = {}, headers?: Record<string, string>) =>
  post('/v1/chat/completions', { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }], ...body }, headers);

/** One success of every operation that writes a receipt, and one of each other kind of request. */
async function walk(): Promise<void> {
  const onceOnly = { 'idempotency-key': randomUUID() };
  const edit = { model: 'mock/image-1', prompt: 'a hat', response_format: 'b64_json' };
  const form = new FormData();
  for (const [name, value] of Object.entries(edit)) form.append(name, value);
  form.append('image', new Blob([new Uint8Array(tinyPng(1))], { type: 'image/png' }), 'a.png');
  const replies = [
    await chat({}, onceOnly),
    await chat({}, onceOnly),
    await chat({ stream: true }),
    await post('/v1/completions', { model: 'mock/chat-1', prompt: 'hi' }),
    await post('/v1/responses', { model: 'mock/chat-1', input: 'hi' }),
    await post('/v1/embeddings', { model: 'mock/embed-1', input: 'hi' }),
    await post('/v1/images/generations', { model: 'mock/image-1', prompt: 'a cat' }),
    await post('/v1/images/edits', form),
    await post('/v1/audio/speech', { model: 'mock/speech-1', input: 'hi', voice: 'alloy' }),
    await post('/v1/audio/transcriptions', formWith({ model: 'mock/transcribe-1' })),
  ];
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  for (const [path, model] of [
    ['/v1/video/generations', 'mock/video-1'],
    ['/v1/music/generations', 'mock/music-1'],
  ] as const) {
    const { json } = await post(path, { model, prompt: 'a boat' }, { 'idempotency-key': randomUUID() });
    await until(
      async () => (await gateway.call(`${path}/${json.id}`, { key: customer.key })).json.completed_at !== null,
    );
  }
  const user = await gateway.dashboardUser();
  expect((await user.call(user.path('/keys'))).status).toBe(200);
  await gateway.call('/dashboard/api/login', {
    body: { email: 'unknown@example.com', password: 'not the password' },
    headers: { 'x-requested-with': 'test' },
  });
  await gateway.app.get(JobGauges, { strict: false }).read();
}

describe('the metrics of a gateway', () => {
  it('are those of the catalogue and no others, and one walk of all operations gives each that counts no fault a sample', async () => {
    await walk();
    const text = await scrape();
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(CATALOGUE.toSorted());
    const sampled = new Set(
      [...text.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?(?:\{.*)? \S+$/gm)].map(([, name]) => name),
    );
    expect(CATALOGUE.filter((name) => !sampled.has(name))).toEqual(WITHOUT_SAMPLES);
    expect(text).toMatch(
      /gateway_requests_total\{operation="createChatCompletion",model="mock\/chat-1",outcome="success",streamed="true"\} 1/,
    );
    expect(text).toMatch(/gateway_upstream_attempts_total\{deployment="mock:[^"]+",outcome="success"\}/);
  });

  // A label for any of them would add a series for each.
  it('get at most 20 series from 60 misspelt models, keys, organizations, users and paths', async () => {
    const send = async (model: string, user: string, path: string, key: string): Promise<string> => {
      const authorization = { authorization: `Bearer ${key}` };
      const replies = [
        await chat({ model }, authorization),
        await chat({ user }, authorization),
        await gateway.call(path, { key }),
      ];
      return replies.map(({ status }) => status).join(' ');
    };
    await send('mock/missing', 'user', '/v1/missing', customer.key);
    await gateway.call('/v1/chat/completions', { key: 'sk-llm-wrong', body: {} });
    const before = await seriesOf();
    let answered = 0;
    for (let index = 0; index < 60; index++) {
      const { key } = await gateway.customer();
      const statuses = await send(`mock/chat-${index}x`, `user-${index}`, `/v1/path-${index}`, key);
      // A busy machine may answer 503.
      if (statuses === '404 200 404') answered += 1;
    }
    expect(answered).toBeGreaterThan(40);
    const added = [...(await seriesOf())].filter((series) => !before.has(series));
    expect(added.length).toBeLessThanOrEqual(20);
  });

  it('have no key, organization, user, address, prompt or request id in a label', async () => {
    const reply = await chat({ messages: [{ role: 'user', content: 'a prompt to keep private' }], user: 'end-user-7' });
    const text = await scrape();
    const secrets = [
      customer.key,
      customer.keyId,
      customer.organizationId,
      'a prompt to keep private',
      'end-user-7',
      '127.0.0.1',
      reply.headers.get('x-request-id') ?? '',
      reply.json.id,
    ];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('count a refusal once, by the type of its error, with the model only when it exists', async () => {
    const count = async (model: string, outcome: string): Promise<number> => {
      const name = `gateway_requests_total{operation="createEmbedding",model="${model}",outcome="${outcome}",streamed="false"}`;
      const line = (await scrape()).split('\n').find((each) => each.startsWith(name));
      return Number(line?.slice(name.length) ?? 0);
    };
    expect([await count('other', 'not_found_error'), await count('mock/embed-1', 'invalid_request_error')]).toEqual([
      0, 0,
    ]);
    await post('/v1/embeddings', { model: 'mock/missing', input: 'hi' });
    await post('/v1/embeddings', { model: 'mock/embed-1', input: 'hi', dimensions: 1_000_000 });
    expect([await count('other', 'not_found_error'), await count('mock/embed-1', 'invalid_request_error')]).toEqual([
      1, 1,
    ]);
  });
});

describe('the management port', () => {
  it('requires the token for the metrics, and none for the probes', async () => {
    const guarded = await TestGateway.start({ MANAGEMENT_TOKEN: 'a-token-of-some-length' });
    const server = guarded.app.get(ManagementServer, { strict: false });
    const url = await server.listen('127.0.0.1', 0);
    const status = async (path: string, token?: string): Promise<number> =>
      (await fetch(url + path, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })).status;
    expect([
      await status('/metrics'),
      await status('/metrics', 'a-token-of-some-lengtH'),
      await status('/metrics', 'a-token-of-some-length'),
      await status('/live'),
      await status('/serving'),
      await status('/ready'),
    ]).toEqual([401, 401, 200, 200, 200, 200]);
    await server.close();
    await guarded.stop();
  });

  it('is not the public port, which has no metrics', async () => {
    expect((await fetch(`${gateway.url}/metrics`)).status).toBe(404);
  });
});
