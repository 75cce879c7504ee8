import type { Clock } from '../core/time/clock';
import type { StoredAnswer } from '../auth/idempotency/idempotency.service';
import type { StoredContent } from '../auth/idempotency/replayed-response';
import type { Bill, Candidate, InferenceInput, RenderedAnswer } from '../inference/inference.types';
import type { UnaryInference } from '../inference/unary-inference.service';
import type { ImageInputs } from '../core/media/image-inputs';
import type { CatalogModel } from '../models/catalog-model';
import type { ImageFile } from '../providers/contract/images';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import type { ImageDelivery, ReplyItem } from './image-delivery';
import type { ImageMaker, MadeImages } from './image-maker';
import type { ImageOrder } from './image-order';
import { renderImages } from './image-reply';

/** The collaborators of a request. */
export interface ImageParts {
  readonly inputs: ImageInputs;
  readonly maker: ImageMaker;
  readonly delivery: ImageDelivery;
  readonly clock: Clock;
}

/** One image request after the hold: fetches inputs, generates and stores images, renders the response. */
export class ImageInference implements UnaryInference<MadeImages> {
  private shown: readonly ImageFile[] = [];
  private items: readonly ReplyItem[] = [];
  private createdSeconds = 0;

  constructor(
    private readonly parts: ImageParts,
    private readonly order: ImageOrder,
    readonly input: InferenceInput,
    /** Estimates the usage of `count` images. */
    private readonly estimate: (count: number, servedBy: CatalogModel) => UsageVector,
  ) {}

  async prepare(signal: AbortSignal): Promise<void> {
    if (this.order.responseFormat === 'url') this.parts.delivery.assertStorable();
    this.shown = await this.parts.inputs.load(this.order.sources, signal, this.input.context.memory);
  }

  attempt(candidate: Candidate, call: ProviderCall): Promise<MadeImages> {
    const { prompt, count, size, quality, style, user, mask } = this.order;
    const delivery = this.returnsVendorUrls ? 'url' : 'bytes';
    const request = { prompt, count, size, quality, style, user, images: this.shown, mask, delivery } as const;
    return this.parts.maker.make(request, candidate, call);
  }

  async deliver({ images }: MadeImages): Promise<void> {
    const { principal, context } = this.input;
    // Set before URLs are signed, so that they do not expire earlier than `refresh` assumes.
    this.createdSeconds = Math.floor(this.parts.clock.now() / 1000);
    this.items = await this.parts.delivery.deliver(images, this.order.responseFormat, {
      organizationId: principal.organizationId,
      id: context.id,
    });
  }

  estimateUsage(_outputBytes: number, servedBy: CatalogModel): UsageVector {
    return this.estimate(this.items.length, servedBy);
  }

  render(_made: MadeImages, bill: Bill): RenderedAnswer {
    return renderImages(this.items, this.createdSeconds, bill);
  }

  refresh(stored: StoredAnswer): Promise<StoredContent> {
    return this.parts.delivery.refresh(stored, this.order.responseFormat);
  }

  /** Without storage, the vendor's URLs are returned. */
  private get returnsVendorUrls(): boolean {
    return this.order.responseFormat === 'url' && !this.parts.delivery.canStore;
  }
}
