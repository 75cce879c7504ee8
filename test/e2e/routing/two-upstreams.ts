/**
 * A gateway between a customer and two upstreams scripted by the test, with models that run on one or both of them.
 * Upstream model names are unique to this gateway, so that it shares health state with no other gateway.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, FakeUpstream } from '../../conformance/fake-upstream';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import { createTestPool } from '../../harness/database';
import { type CallReply, type TestCustomer, TestGateway } from '../../harness/gateway';
import { chunk, event, usageChunk } from '../../harness/upstream-models';

export const PATH = '/v1/chat/completions';
export const PROMPT_TOKENS = 1_000;
export const OUTPUT_TOKENS = 100;
/** Micro-units per million tokens, prompt and output alike. */
const PRICE = { first: 1_000_000, second: 3_000_000, reserve: 7_000_000 };
/** Price of one response of each model. */
export const COST = {
  first: ((PROMPT_TOKENS + OUTPUT_TOKENS) * PRICE.first) / 1_000_000,
  second: ((PROMPT_TOKENS + OUTPUT_TOKENS) * PRICE.second) / 1_000_000,
  reserve: ((PROMPT_TOKENS + OUTPUT_TOKENS) * PRICE.reserve) / 1_000_000,
};

const priced = (perMillion: number): object[] => [
  {
    effective_from: '2026-01-01',
    source: 'made up',
    checked_at: '2026-01-01',
    tokens: { per_1m_micro: { input: perMillion, output: perMillion } },
  },
];
const onFirst = (name: string, extra: object = {}): object => ({
  provider: 'openai-compatible',
  upstream_model: name,
  prices: priced(PRICE.first),
  ...extra,
});
const onSecond = (name: string, extra: object = {}): object => ({
  provider: 'openai',
  upstream_model: name,
  prices: priced(PRICE.second),
  ...extra,
});
const model = (id: string, deployments: object[], extra: object = {}): object => ({
  id,
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  context: 32_768,
  max_output: 8_192,
  features: { tools: true },
  deployments,
  prices: priced(PRICE.reserve),
  ...extra,
});

function models(suffix: string): object[] {
  const name = (text: string): string => `${text}-${suffix}`;
  return [
    model('local/solo', [onFirst(name('solo'))]),
    model('local/pair', [onFirst(name('one')), onSecond(name('two'))]),
    model('local/race', [onFirst(name('race-one')), onSecond(name('race-two'))]),
    model('local/twins', [onFirst(name('left')), onFirst(name('right'))]),
    model('local/hasty', [onFirst(name('hasty'), { timeouts: { first_token_ms: 300, idle_ms: 300 } })]),
    model('local/reserve', [{ provider: 'openai', upstream_model: name('reserve') }]),
    model('local/even', [
      onFirst(name('even-one'), { priority: 0, weight: 1 }),
      onSecond(name('even-two'), { priority: 0, weight: 1 }),
    ]),
    model('local/picky', [
      onFirst(name('picky'), { quirks: { rejectFields: ['logit_bias'], dropFields: ['seed'] } }),
      onSecond(name('easy')),
    ]),
    {
      ...model('local/schemas', [
        onFirst(name('json-mode-only'), { quirks: { jsonSchemas: false } }),
        onSecond(name('schemas')),
      ]),
      features: { json_object: true, json_schema: true },
    },
  ];
}

/** How long a failure may take and still be retried at the same deployment. */
export const QUICK_FAILURE_MS = 1_000;

export class TwoUpstreams {
  customer!: TestCustomer;

  private constructor(
    readonly gateway: TestGateway,
    readonly first: FakeUpstream,
    readonly second: FakeUpstream,
    private readonly catalogDir: string,
    private readonly settings: Record<string, string>,
  ) {}

  static async start(environment: Record<string, string> = {}, clock: Clock = systemClock): Promise<TwoUpstreams> {
    const [first, second] = await Promise.all([FakeUpstream.start(), FakeUpstream.start()]);
    const catalogDir = mkdtempSync(join(tmpdir(), 'gateway-routing-'));
    writeFileSync(join(catalogDir, 'local.json'), JSON.stringify(models(randomUUID())));
    const settings = {
      OPENAI_COMPATIBLE_BASE_URL: `${first.origin}/v1`,
      OPENAI_BASE_URL: `${second.origin}/v1`,
      OPENAI_API_KEY: 'sk-of-the-operator',
      CATALOG_DIR: catalogDir,
      ...environment,
    };
    return new TwoUpstreams(await TestGateway.start(settings, clock), first, second, catalogDir, settings);
  }

  /**
   * A second process of the same deployment: the same upstreams and the same Redis, and a database with the same id.
   */
  async startReplica(): Promise<TestGateway> {
    const [identity] = await this.gateway.rows<{ id: string }>('SELECT id FROM deployment_identity');
    return TestGateway.start(this.settings, systemClock, async (url) => {
      const pool = createTestPool(url, 1);
      await pool.query('UPDATE deployment_identity SET id = $1', [identity?.id]);
      await pool.end();
      return url;
    });
  }

  /** Creates a customer and resets both upstreams. */
  async reset(): Promise<void> {
    this.customer = await this.gateway.customer();
    for (const upstream of [this.first, this.second]) {
      upstream.received.length = 0;
      upstream.answer = answers;
    }
  }

  call(model: string, fields: object = {}, signal?: AbortSignal): Promise<CallReply> {
    const body = { model, messages: [{ role: 'user', content: 'hi' }], ...fields };
    return this.gateway.call(PATH, { key: this.customer.key, body, signal });
  }

  /**
   * Calls with this answer of the first upstream, after a reset each time, until the call was quick: a slow failure,
   * as on a stalled machine, is not retried at the same deployment.
   */
  async callQuickly(
    answer: Answer,
    model: string,
    fields: object = {},
    reset = (): Promise<void> => this.reset(),
  ): Promise<CallReply> {
    for (;;) {
      await reset();
      this.first.answer = answer;
      const startedAtMs = performance.now();
      const reply = await this.call(model, fields);
      if (performance.now() - startedAtMs < QUICK_FAILURE_MS) return reply;
    }
  }

  /** Number of calls to each upstream. */
  get calls(): [first: number, second: number] {
    return [this.first.received.length, this.second.received.length];
  }

  /** Micro-units that the customer has paid, and that are still held. */
  async spent(): Promise<{ paid: number; held: number }> {
    const [row] = await this.gateway.rows<{ balance: string; held: string }>(
      `SELECT balance_micro AS balance, reserved_micro AS held FROM organization_account WHERE organization_id = $1`,
      [this.customer.organizationId],
    );
    return { paid: 10_000_000 - Number(row?.balance), held: Number(row?.held) };
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all([this.first.stop(), this.second.stop()]);
    rmSync(this.catalogDir, { recursive: true, force: true });
  }
}

const USAGE = { prompt_tokens: PROMPT_TOKENS, completion_tokens: OUTPUT_TOKENS };

/** A successful upstream response, whole or streamed. */
export const answers: Answer = (response, { body }) => {
  const { stream } = JSON.parse(body) as { stream?: boolean };
  if (stream === true) {
    response.setHeader('content-type', 'text/event-stream');
    response.write(chunk({ role: 'assistant', content: 'Hello' }));
    response.end(chunk({}, 'stop') + usageChunk(PROMPT_TOKENS, OUTPUT_TOKENS) + event('[DONE]'));
    return;
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }];
  sends(response, 200, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE });
};

/** A refusal with this status. */
export const refuses =
  (status: number, error: object = {}, headers: Record<string, string> = {}): Answer =>
  (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    sends(response, status, { error: { message: 'no', ...error } });
  };

/** Never responds. */
export const hangs: Answer = () => undefined;

/** Closes the connection without a response. */
export const cuts: Answer = (response) => response.destroy();

function sends(response: ServerResponse, status: number, document: object): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(document));
}
