/**
 * A gateway that serves the mock model twice: directly as `mock/chat-1`, and as `relay/chat-1` over HTTP from a second
 * gateway, like a vendor's model. Clients must see no difference.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestGateway } from '../harness/gateway';

/** For `describe.each`. */
export const CHAT_MODELS = ['mock/chat-1', 'relay/chat-1'];
/** The relay requests numbers, whatever its clients request. */
export const EMBEDDING_MODELS = ['mock/embed-1', 'relay/embed-1'];
export const IMAGE_MODELS = ['mock/image-1', 'relay/image-1'];
export const SPEECH_MODELS = ['mock/speech-1', 'relay/speech-1'];
export const TRANSCRIPTION_MODELS = ['mock/transcribe-1', 'relay/transcribe-1'];

const CATALOGUE = `
- id: relay/chat-1
  modality: text
  input_modalities: [text, image]
  output_modalities: [text]
  context: 128000
  max_output: 16384
  features: { tools: true, parallel_tools: true, json_object: true, json_schema: true, logprobs: true, streaming: true }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/chat-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 100000, output: 400000 } }
- id: relay/base-1
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  context: 128000
  max_output: 16384
  features: { completions: true, logprobs: true, streaming: true }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/chat-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 100000, output: 400000 } }
- id: relay/embed-1
  modality: embedding
  input_modalities: [text]
  output_modalities: [embedding]
  context: 8192
  features: { dimensions: true }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/embed-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 20000, output: 0 } }
- id: relay/image-1
  modality: image
  input_modalities: [text, image]
  output_modalities: [image]
  features: { edit: true, mask: true }
  media: { sizes: [256x256, 512x512] }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/image-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      image: { rows: [{ size: '*', quality: '*', per_image_micro: 4000 }] }
- id: relay/speech-1
  modality: speech
  input_modalities: [text]
  output_modalities: [audio]
  features: { instructions: true, speed: true }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/speech-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      speech: { per_1k_chars_micro: 1500 }
- id: relay/transcribe-1
  modality: transcription
  input_modalities: [audio]
  output_modalities: [text]
  features: { timestamps: [segment, word], streaming: true }
  deployments:
    - { provider: openai-compatible, upstream_model: mock/transcribe-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      transcription: { per_minute_micro: 600, round_up_to_s: 1 }
`;

/** A gateway whose `relay/chat-1` is served by the server at `origin`. */
export async function startRelayTo(origin: string, environment: Record<string, string> = {}): Promise<TestGateway> {
  // The gateway reads the catalogue at startup only.
  const directory = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
  try {
    writeFileSync(join(directory, 'relay.yaml'), CATALOGUE);
    return await TestGateway.start({
      CATALOG_DIR: directory,
      OPENAI_COMPATIBLE_BASE_URL: `${origin}/v1`,
      ...environment,
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export class RelayedGateway {
  private constructor(
    /** The gateway that clients call. */
    readonly front: TestGateway,
    private readonly upstream: TestGateway,
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<RelayedGateway> {
    const upstream = await TestGateway.start();
    const { key } = await upstream.customer();
    const front = await startRelayTo(upstream.url, { OPENAI_COMPATIBLE_API_KEY: key, ...environment });
    return new RelayedGateway(front, upstream);
  }

  async stop(): Promise<void> {
    await this.front.stop();
    await this.upstream.stop();
  }

  /** Every broken ledger invariant of either gateway. */
  async violations(): Promise<object[]> {
    return [...(await this.front.violations()), ...(await this.upstream.violations())];
  }
}
