/** A gateway with separate models on simulated upstreams, and a signed-in operator. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../../../conformance/fake-upstream';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type CallReply, type TestCustomer, TestGateway } from '../../../harness/gateway';
import { answers } from '../../routing/two-upstreams';

export const OPERATOR = '/dashboard/api/operator';
const SECRETS_KEY = 'ab'.repeat(32);

/** Cost of one upstream response at one dollar per million tokens. */
export const ANSWER_MICRO = 1_100;

const PRICE = {
  effective_from: '2026-01-01',
  source: 'made up',
  checked_at: '2026-01-01',
  tokens: { per_1m_micro: { input: 1_000_000, output: 1_000_000 } },
};

const model = (id: string, deployments: object[], extra: object = {}): object => ({
  id,
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  context: 32_768,
  max_output: 8_192,
  deployments,
  prices: [PRICE],
  ...extra,
});

/** Upstream model names are unique, because deployment health is shared through Redis. */
function models(suffix: string): object[] {
  const on = (provider: string, name: string): object => ({ provider, upstream_model: `${name}-${suffix}` });
  return [
    model('local/chat', [on('openai-compatible', 'chat')]),
    model('local/pair', [on('openai-compatible', 'one'), on('openai-compatible', 'two')]),
    model('local/unpriced', [on('openai-compatible', 'unpriced')], { prices: [] }),
    model('vendor/chat', [on('openai', 'vendor')]),
    model('local/unspoken', [{ ...on('openai-compatible', 'unspoken'), dialect: 'gemini-generate' }]),
  ];
}

export class OperatorStage {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
    readonly operator: DashboardClient,
    readonly catalogDir: string,
    private readonly settings: Record<string, string>,
  ) {}

  /**
   * @param named models on provider instances, by model and provider id; `from-file` is an instance of `PROVIDERS_FILE`
   */
  static async start(
    environment: Record<string, string> = {},
    named: readonly (readonly [model: string, provider: string])[] = [],
  ): Promise<OperatorStage> {
    const upstream = await FakeUpstream.start();
    upstream.answer = answers;
    const catalogDir = mkdtempSync(join(tmpdir(), 'gateway-operator-'));
    const suffix = randomUUID();
    const extra = named.map(([id, provider]) => model(id, [{ provider, upstream_model: `${provider}-${suffix}` }]));
    writeFileSync(join(catalogDir, 'local.json'), JSON.stringify([...models(suffix), ...extra]));
    const providersFile = join(catalogDir, 'providers.txt');
    const instance = { id: 'from-file', module: 'openai-compatible', base_url: `${upstream.origin}/file/v1` };
    writeFileSync(providersFile, JSON.stringify([instance]));
    const settings = {
      ...(named.length > 0 && { PROVIDERS_FILE: providersFile }),
      CATALOG_DIR: catalogDir,
      OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
      SECRETS_KEY,
      ...environment,
    };
    const gateway = await TestGateway.start(settings);
    const operator = await gateway.dashboardUser({ operator: true });
    return new OperatorStage(gateway, upstream, operator, catalogDir, settings);
  }

  /** Another process of the same gateway, with the same database and Redis. */
  startReplica(environment: Record<string, string> = {}): Promise<TestGateway> {
    return TestGateway.start({ ...this.settings, DATABASE_URL: this.gateway.database.url, ...environment });
  }

  /** Sends a chat request to this or another process. */
  ask(customer: TestCustomer, model: string, fields: object = {}, gateway = this.gateway): Promise<CallReply> {
    const body = { model, messages: [{ role: 'user', content: 'hi' }], ...fields };
    return gateway.call('/v1/chat/completions', { key: customer.key, body });
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
    rmSync(this.catalogDir, { recursive: true, force: true });
  }
}

/** Resolves when `holds` returns true; rejects with `what` after a minute. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
