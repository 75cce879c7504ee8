import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/embeddings';

/**
 * One micro-unit per token. The gateway requests numbers from `local/embed` and base64 from
 * `openai/text-embedding-3-small`.
 */
const MODELS = [
  { id: 'local/embed', features: {}, deployment: { provider: 'openai-compatible', upstream_model: 'embed' } },
  {
    id: 'local/fixed',
    features: { dimensions: false },
    deployment: { provider: 'openai-compatible', upstream_model: 'fixed' },
  },
].map(({ id, features, deployment }) => ({
  id,
  modality: 'embedding',
  input_modalities: ['text'],
  output_modalities: ['embedding'],
  context: 100,
  features,
  deployments: [deployment],
  prices: [
    {
      effective_from: '2026-01-01',
      source: 'made up',
      checked_at: '2026-01-01',
      tokens: { per_1m_micro: { input: 1_000_000, output: 0 } },
    },
  ],
}));

/** The request that the upstream received. */
interface Asked {
  readonly input: unknown;
  readonly encoding_format?: string;
  readonly [field: string]: unknown;
}

/** A gateway with a scripted upstream, both as a self-hosted server and as the vendor of the format. */
export class EmbeddingGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
    readonly customer: TestCustomer,
  ) {}

  static async start(): Promise<EmbeddingGateway> {
    const upstream = await FakeUpstream.start();
    const catalogue = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
    try {
      writeFileSync(join(catalogue, 'local.json'), JSON.stringify(MODELS));
      const gateway = await TestGateway.start({
        CATALOG_DIR: catalogue,
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
        OPENAI_BASE_URL: `${upstream.origin}/v1`,
        OPENAI_API_KEY: 'sk-test',
      });
      return new EmbeddingGateway(gateway, upstream, await gateway.customer());
    } finally {
      rmSync(catalogue, { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  /** From now on the upstream returns a vector for each input, in the requested encoding. */
  answerWith(
    vectors: readonly (readonly number[])[],
    usage: object | null = { prompt_tokens: 7, total_tokens: 7 },
  ): void {
    this.upstream.answer = (response, { body }) => {
      const base64 = (JSON.parse(body) as Asked).encoding_format === 'base64';
      const data = vectors.map((vector, index) => ({ index, embedding: base64 ? toBase64(vector) : vector }));
      response.end(JSON.stringify({ object: 'list', data, usage }));
    };
  }

  get lastAsked(): Asked {
    return JSON.parse(this.upstream.received.at(-1)?.body ?? '{}') as Asked;
  }

  embed(body: object, headers: Record<string, string> = {}, key = this.customer.key): Promise<CallReply> {
    return this.gateway.call(PATH, { key, headers, body });
  }

  async balance({ organizationId }: TestCustomer = this.customer): Promise<number> {
    const [row] = await this.gateway.rows<{ balance: string }>(
      'SELECT balance_micro - reserved_micro AS balance FROM organization_account WHERE organization_id = $1',
      [organizationId],
    );
    return Number(row?.balance);
  }
}

function toBase64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

export function fromBase64(text: string): number[] {
  return [...new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)];
}
