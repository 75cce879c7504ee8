import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../../harness/gateway';

const priced = (price: object): object => ({
  prices: [{ effective_from: '2026-01-01', source: 'made up', checked_at: '2026-01-01', ...price }],
});
const TOKENS = {
  tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000, audio_in: 3_000_000, audio_out: 4_000_000 } },
};

const speech = (id: string, extra: object, price: object): object => ({
  id,
  modality: 'speech',
  input_modalities: ['text'],
  output_modalities: ['audio'],
  deployments: [{ provider: 'openai-compatible', upstream_model: id.slice('local/'.length) }],
  ...extra,
  ...priced(price),
});

const transcription = (id: string, extra: object, price: object): object => ({
  ...speech(id, extra, price),
  modality: 'transcription',
  input_modalities: ['audio'],
  output_modalities: ['text'],
});

/** 15 micro-units per character, or 100 per second. */
const MODELS = [
  speech(
    'local/voice',
    {
      media: { voices: ['alloy', 'echo'], formats: ['mp3', 'wav', 'pcm'] },
      features: { instructions: true, speed: true },
    },
    { speech: { per_1k_chars_micro: 15_000 } },
  ),
  speech('local/dear', { media: { voices: ['alloy'] } }, { speech: { per_1k_chars_micro: 30_000 } }),
  speech('local/plain', { features: { speed: false } }, { speech: { per_1k_chars_micro: 15_000 } }),
  speech('local/spoken-tokens', {}, TOKENS),
  // The first deployment needs `FAL_KEY`.
  speech(
    'local/recorded',
    {
      deployments: [
        {
          provider: 'fal',
          upstream_model: 'fal-ai/voice',
          priority: 0,
          map: { input: 'prompt', voice: 'voice' },
          output: { audio: '$.audio.url' },
        },
        { provider: 'openai-compatible', upstream_model: 'recorded', priority: 1 },
      ],
    },
    { speech: { per_1k_chars_micro: 15_000 } },
  ),
  transcription(
    'local/ear',
    { features: { timestamps: ['segment', 'word'], streaming: true } },
    { transcription: { per_minute_micro: 6_000, round_up_to_s: 1 } },
  ),
  transcription('local/without-timestamps', {}, { transcription: { per_minute_micro: 6_000 } }),
  transcription('local/token-priced', { features: { streaming: true } }, TOKENS),
];

export interface UsageRow {
  readonly status: number;
  readonly streamed: boolean;
  readonly charged_micro: string;
  readonly usage_estimated: boolean;
  /** `null`: none. */
  readonly characters: string | null;
  readonly seconds: string;
  readonly [column: string]: unknown;
}

/** A gateway with a scripted host of speech and transcription models. */
export class AudioGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<AudioGateway> {
    const upstream = await FakeUpstream.start();
    const catalogue = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
    try {
      writeFileSync(join(catalogue, 'local.json'), JSON.stringify(MODELS));
      const gateway = await TestGateway.start({
        CATALOG_DIR: catalogue,
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
        LOG_LEVEL: 'silent',
        ...environment,
      });
      return new AudioGateway(gateway, upstream);
    } finally {
      rmSync(catalogue, { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  /** Receipts of a customer, oldest first. */
  records({ organizationId }: TestCustomer): Promise<UsageRow[]> {
    return this.gateway.rows('SELECT * FROM usage_record WHERE organization_id = $1 ORDER BY id', [organizationId]);
  }

  /** In micro-units: available and held. */
  async account({ organizationId }: TestCustomer): Promise<{ readonly free: number; readonly held: number }> {
    const [row] = await this.gateway.rows<{ balance: string; held: string }>(
      'SELECT balance_micro AS balance, reserved_micro AS held FROM organization_account WHERE organization_id = $1',
      [organizationId],
    );
    return { free: Number(row?.balance) - Number(row?.held), held: Number(row?.held) };
  }
}
