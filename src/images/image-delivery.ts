import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { StoredAnswer } from '../idempotency/idempotency.service';
import type { RepeatedAnswer } from '../inference/keyed-answers';
import { StoredObjects } from '../storage/stored-objects';
import { toBase64Pieces } from './base64-pieces';
import type { ImageResponseFormat } from './dto/image-fields.dto';
import type { MadeImage } from './image-maker';
import { unpackReply } from './packed-reply';

/** How long a storage that has failed is left alone. */
const REST_MS = 5_000;

/** One image as the client gets it. */
export type ReplyItem = ({ readonly url: string } | InlineImage) & { readonly revisedPrompt: string | null };

/** An image that is part of the answer. */
export interface InlineImage {
  readonly bytes: Buffer;
  readonly base64: readonly Buffer[];
}

/** Whom images are made for. */
export interface ImageOwner {
  readonly organizationId: string;
  /** Of the request. */
  readonly id: string;
}

/** What `renderImages` has written for addresses. */
interface ReplyWithAddresses {
  readonly created: number;
  readonly data: readonly { readonly url: string }[];
}

/** Brings images to the client: in the answer, or as addresses under which they wait in the operator's storage. */
@Injectable()
export class ImageDelivery {
  private readonly lifetimeMs: number;
  /** When an image could last not be stored; `null`: never. */
  private failedAtMs: number | null = null;

  constructor(
    private readonly objects: StoredObjects,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { storage }: AppConfig,
  ) {
    this.lifetimeMs = storage.signedUrlTtlSeconds * 1_000;
  }

  /** Whether images can be kept; without, only the vendor's own addresses can be given. */
  get canStore(): boolean {
    return this.objects.isConfigured;
  }

  /**
   * Nobody is asked for images that could not be stored: each of them would have to be made again.
   * @throws GatewayError `service_unavailable` for a moment after a failure
   */
  assertStorable(): void {
    if (this.failedAtMs === null || this.clock.monotonic() - this.failedAtMs >= REST_MS) return;
    const options = { retryAfterSeconds: REST_MS / 1_000 };
    throw new GatewayError('service_unavailable', 'The storage of images is away at the moment.', options);
  }

  /**
   * @throws GatewayError `service_unavailable` when one cannot be stored: the client is told to come back, and pays
   * nothing. What was stored of the others is deleted with its time.
   */
  async deliver(
    images: readonly MadeImage[],
    format: ImageResponseFormat,
    owner: ImageOwner,
  ): Promise<readonly ReplyItem[]> {
    if (format === 'url') return this.storeAll(images, owner);
    const items: ReplyItem[] = [];
    for (const image of images) {
      if (!('bytes' in image)) continue;
      const { bytes, revisedPrompt } = image;
      items.push({ bytes, base64: await toBase64Pieces(bytes), revisedPrompt });
    }
    return items;
  }

  /** A stored answer as it was given, but for addresses that have expired: their images have new ones. */
  refresh(stored: StoredAnswer, format: ImageResponseFormat): Promise<RepeatedAnswer> {
    return format === 'url' ? this.renewAddresses(stored) : unpackReply(stored);
  }

  /** A vendor's own addresses stay what they are. */
  private async renewAddresses(stored: StoredAnswer): Promise<StoredAnswer> {
    const reply = JSON.parse(stored.body.toString()) as ReplyWithAddresses;
    if (this.clock.now() < reply.created * 1_000 + this.lifetimeMs) return stored;
    const data = await Promise.all(reply.data.map(async (item) => ({ ...item, url: await this.renew(item.url) })));
    return { ...stored, body: Buffer.from(JSON.stringify({ ...reply, data })) };
  }

  private async renew(url: string): Promise<string> {
    const key = this.objects.keyOf(url);
    return key === null ? url : (await this.objects.sign(key)).url;
  }

  private async storeAll(images: readonly MadeImage[], owner: ImageOwner): Promise<readonly ReplyItem[]> {
    try {
      return await Promise.all(images.map((image, index) => this.store(image, index, owner)));
    } catch (error) {
      this.failedAtMs = this.clock.monotonic();
      throw error;
    }
  }

  private async store(image: MadeImage, index: number, { organizationId, id }: ImageOwner): Promise<ReplyItem> {
    const { revisedPrompt } = image;
    if ('url' in image) return { url: image.url, revisedPrompt };
    const { bytes: body, contentType } = image;
    const { key } = await this.objects.store({ kind: 'image', organizationId, id, index, contentType, body });
    const { url } = await this.objects.sign(key);
    return { url, revisedPrompt };
  }
}
