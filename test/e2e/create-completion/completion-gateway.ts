import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/completions';

/**
 * `local/base` is a completion model, `local/chat` a chat model. One micro-unit per input token, two per output token.
 */
const MODELS = [
  { id: 'local/base', features: { completions: true } },
  { id: 'local/chat', features: {} },
].map(({ id, features }) => ({
  id,
  modality: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  context: 4_096,
  max_output: 1_024,
  features,
  deployments: [{ provider: 'openai-compatible', upstream_model: id.slice('local/'.length) }],
  prices: [
    {
      effective_from: '2026-01-01',
      source: 'made up',
      checked_at: '2026-01-01',
      tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000 } },
    },
  ],
}));

/** A gateway with a scripted upstream and the mock provider. */
export class CompletionGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
    readonly customer: TestCustomer,
  ) {}

  static async start(): Promise<CompletionGateway> {
    const upstream = await FakeUpstream.start();
    const catalogue = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
    try {
      writeFileSync(join(catalogue, 'local.json'), JSON.stringify(MODELS));
      const gateway = await TestGateway.start({
        CATALOG_DIR: catalogue,
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
      });
      return new CompletionGateway(gateway, upstream, await gateway.customer());
    } finally {
      rmSync(catalogue, { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  complete(body: object, headers: Record<string, string> = {}, key = this.customer.key): Promise<CallReply> {
    return this.gateway.call(PATH, { key, headers, body });
  }

  get lastAsked(): { readonly url: string; readonly body: Record<string, unknown> } {
    const { url = '', body = '{}' } = this.upstream.received.at(-1) ?? {};
    return { url, body: JSON.parse(body) as Record<string, unknown> };
  }

  async balance({ organizationId }: TestCustomer = this.customer): Promise<number> {
    const [row] = await this.gateway.rows<{ balance: string }>(
      'SELECT balance_micro - reserved_micro AS balance FROM organization_account WHERE organization_id = $1',
      [organizationId],
    );
    return Number(row?.balance);
  }
}
