import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import type { RequestTrace } from '../core/types/trace';
import { GatewayError } from '../core/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { StoredResponse } from '../auth/idempotency/idempotency.service';
import type { StoredContent } from '../auth/idempotency/replayed-response';
import { StoredObjects } from '../core/storage/stored-objects';
import { type ReplyItem, toBase64Pieces, unpackReply } from './image-reply';
import type { ImageResponseFormat } from './dto/image-request.dto';
import type { MadeImage } from './image-maker';

/** Cool-down after a storage failure. */
const COOL_DOWN_MS = 5_000;

/** The organization and request that own stored images. */
export interface ImageOwner {
  readonly organizationId: string;
  /** Id of the request. */
  readonly id: string;
  readonly trace: RequestTrace | null;
}

/** The response body of `renderImages` with image URLs. */
interface ReplyWithUrls {
  readonly created: number;
  readonly data: readonly { readonly url: string }[];
}

/** Delivers images embedded in the response, or as signed URLs to the operator's storage. */
@Injectable()
export class ImageDelivery {
  private readonly lifetimeMs: number;
  /** Time of the last storage failure; `null`: none. */
  private failedAtMs: number | null = null;

  constructor(
    private readonly objects: StoredObjects,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { storage }: AppConfig,
  ) {
    this.lifetimeMs = storage.signedUrlTtlSeconds * 1_000;
  }

  /** Whether storage is configured; without it, only the vendor's URLs can be returned. */
  get canStore(): boolean {
    return this.objects.isConfigured;
  }

  /**
   * Refuses requests whose images probably could not be stored, so that they are not generated in vain.
   * @throws GatewayError `service_unavailable` during the cool-down after a failure
   */
  assertStorable(): void {
    if (this.failedAtMs === null || this.clock.monotonic() - this.failedAtMs >= COOL_DOWN_MS) return;
    const options = { retryAfterSeconds: COOL_DOWN_MS / 1_000 };
    throw new GatewayError('service_unavailable', 'Image storage is temporarily unavailable. Retry shortly.', options);
  }

  /**
   * @throws GatewayError `service_unavailable` when an image cannot be stored: the client pays nothing and can retry.
   * Images already stored are deleted when they expire.
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
      const { bytes, revisedPrompt, size } = image;
      items.push({ bytes, base64: await toBase64Pieces(bytes), revisedPrompt, size });
    }
    return items;
  }

  /** Restores a stored response and replaces expired URLs. */
  refresh(stored: StoredResponse, format: ImageResponseFormat): Promise<StoredContent> {
    return format === 'url' ? this.renewUrls(stored) : unpackReply(stored);
  }

  /** Leaves the vendor's URLs unchanged. */
  private async renewUrls(stored: StoredResponse): Promise<StoredResponse> {
    const reply = JSON.parse(stored.body.toString()) as ReplyWithUrls;
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

  private async store(image: MadeImage, index: number, { organizationId, id, trace }: ImageOwner): Promise<ReplyItem> {
    const { revisedPrompt, size } = image;
    if ('url' in image) return { url: image.url, revisedPrompt, size };
    const { bytes: body, contentType } = image;
    const { key } = await this.objects.store({ kind: 'image', organizationId, id, index, contentType, body, trace });
    const { url } = await this.objects.sign(key);
    return { url, revisedPrompt, size };
  }
}
