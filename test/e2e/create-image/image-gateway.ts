import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/core/time/clock';
import { FakeUpstream, type ReceivedRequest } from '../../conformance/fake-upstream';
import { images } from '../../conformance/media-answers';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

/** Micro-units of one image of `local/images` by quality. */
export const PRICES = { low: 2_000, high: 8_000, other: 4_000 };

const ROWS = [
  { size: '*', quality: 'low', per_image_micro: PRICES.low },
  { size: '*', quality: 'high', per_image_micro: PRICES.high },
  { size: '*', quality: '*', per_image_micro: PRICES.other },
];
const ESTIMATES = { estimate_only: true, rows: [{ size: '*', quality: '*', per_image_micro: 500 }] };
/** One micro-unit per text token, two per input image token, three per output image token. */
const TOKENS = { per_1m_micro: { input: 1_000_000, image_in: 2_000_000, output: 3_000_000, image_out: 3_000_000 } };

const ALL = { edit: true, mask: true };
const model = (
  name: string,
  price: object,
  { quirks = {}, features = ALL, media = {} }: { quirks?: object; features?: object; media?: object } = {},
): object => ({
  id: `local/${name}`,
  modality: 'image',
  input_modalities: ['text', 'image'],
  output_modalities: ['image'],
  features,
  media,
  deployments: [{ provider: 'openai-compatible', upstream_model: name, quirks }],
  prices: [{ effective_from: '2026-01-01', source: 'made up', checked_at: '2026-01-01', ...price }],
});

const MODELS = [
  model('images', { image: { rows: ROWS } }),
  model('one-by-one', { image: { rows: ROWS } }, { quirks: { imagesPerCall: 1 } }),
  model('by-three', { tokens: TOKENS, image: ESTIMATES }, { quirks: { imagesPerCall: 3 } }),
  model('tokens', { tokens: TOKENS, image: ESTIMATES }),
  model('bare-tokens', { tokens: TOKENS }),
  model('bytes', { image: { rows: ROWS } }, { quirks: { imageUrls: false } }),
  model('plain', { image: { rows: ROWS } }, { features: {}, media: { max_images: 2 } }),
  model('follower', { image: { rows: ROWS } }, { features: {}, media: { references: true } }),
  {
    ...model('mixed', { image: { rows: ROWS } }),
    deployments: [
      { provider: 'openai-compatible', upstream_model: 'gives-bytes', quirks: { imageUrls: false } },
      { provider: 'openai-compatible', upstream_model: 'gives-urls' },
    ],
  },
  model('unmasked', { image: { rows: ROWS } }, { features: { edit: true } }),
  model('black-masks', { image: { rows: ROWS } }, { quirks: { maskColor: 'black' } }),
  model('sized', { image: { rows: [{ size: '9x9', per_image_micro: 1 }] } }),
  model(
    'listed',
    {
      image: {
        rows: [
          { size: '512x512', quality: 'hd', per_image_micro: 7 },
          { size: '256x256', per_image_micro: 5 },
        ],
      },
    },
    { media: { sizes: ['512x512', '256x256'], qualities: ['hd', 'standard'], styles: ['vivid'], max_images: 10 } },
  ),
];

/** A gateway with a scripted upstream in OpenAI's format. */
export class ImageGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
    readonly customer: TestCustomer,
  ) {}

  static async start(environment: Record<string, string> = {}, clock?: Clock): Promise<ImageGateway> {
    const upstream = await FakeUpstream.start();
    const catalogue = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
    try {
      writeFileSync(join(catalogue, 'local.json'), JSON.stringify(MODELS));
      const gateway = await TestGateway.start(
        { CATALOG_DIR: catalogue, OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`, ...environment },
        clock,
      );
      upstream.answer = images(1);
      return new ImageGateway(gateway, upstream, await gateway.customer());
    } finally {
      rmSync(catalogue, { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  /** Requests inline images of `local/images` by default. */
  create(body: object = {}, headers: Record<string, string> = {}, key = this.customer.key): Promise<CallReply> {
    const defaults = { model: 'local/images', prompt: 'a cat', response_format: 'b64_json' };
    return this.gateway.call(GENERATIONS, { key, headers, body: { ...defaults, ...body } });
  }

  edit(body: FormData | object, headers: Record<string, string> = {}, key = this.customer.key): Promise<CallReply> {
    return this.gateway.call(EDITS, { key, headers, body });
  }

  get lastAsked(): ReceivedRequest | undefined {
    return this.upstream.received.at(-1);
  }

  /** The JSON of the last upstream request. */
  get lastBody(): Record<string, unknown> {
    return JSON.parse(this.lastAsked?.body ?? '{}') as Record<string, unknown>;
  }

  /** The available balance: it lacks any hold that was not released. */
  async balance({ organizationId }: TestCustomer = this.customer): Promise<number> {
    const [row] = await this.gateway.rows<{ balance: string }>(
      'SELECT balance_micro - reserved_micro AS balance FROM organization_account WHERE organization_id = $1',
      [organizationId],
    );
    return Number(row?.balance);
  }

  /** The amount that a call takes from the balance, and its response. */
  async costOf(call: () => Promise<CallReply>): Promise<{ readonly reply: CallReply; readonly cost: number }> {
    const before = await this.balance();
    const reply = await call();
    return { reply, cost: before - (await this.balance()) };
  }
}
