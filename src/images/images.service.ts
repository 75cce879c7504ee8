import { Inject, Injectable } from '@nestjs/common';
import type { StoredResponse } from '../auth/idempotency/idempotency.service';
import type { StoredContent } from '../auth/idempotency/replayed-response';
import { ResponseMemory } from '../core/http/response-memory';
import { GatewayError } from '../core/errors/gateway-error';
import type { Answer } from '../core/http/answer';
import { EditMasks, type MaskColor } from '../core/media/edit-masks';
import { ImageInputs } from '../core/media/image-inputs';
import { type Clock, CLOCK } from '../core/time/clock';
import type { MultipartForm } from '../core/types/multipart-form';
import { requireMemory, type RequestContext } from '../core/types/request-context';
import { type InferenceTarget, requireTarget } from '../inference/inference-target';
import { requiredSupport } from '../inference/parameter-support';
import { TokenRatios } from '../inference/token-estimate';
import type { Bill, Candidate, InferenceInput, RenderedAnswer } from '../inference/inference.types';
import { CandidateSelector } from '../inference/route-planner';
import { type UnaryInference, UnaryInferenceService } from '../inference/unary-inference.service';
import type { CatalogModel } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import { givesImageUrls, type ImageFile } from '../providers/contract/images';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import type { ImageEditRequestDto, ImageRequestDto } from './dto/image-request.dto';
import { ImageDelivery } from './image-delivery';
import type { ImageEdit } from './image-edit.pipe';
import { ImageMaker, type MadeImages } from './image-maker';
import {
  assertSupported,
  estimateImages,
  type ImageOrder,
  isPriced,
  isSupported,
  type OrderImages,
  resolvePricedOptions,
  toImageOrder,
} from './image-order';
import { renderImages, type ReplyItem } from './image-reply';

/** The collaborators of a request. */
export interface ImageParts {
  readonly inputs: ImageInputs;
  readonly masks: EditMasks;
  readonly maker: ImageMaker;
  readonly memory: ResponseMemory;
  readonly delivery: ImageDelivery;
  readonly clock: Clock;
}

/** One image request after the hold: fetches inputs, generates and stores images, renders the response. */
class ImageInference implements UnaryInference<MadeImages> {
  private shown: readonly ImageFile[] = [];
  /** Masks for deployments that do not read transparency, or the errors of their conversion, by the color to edit. */
  private readonly convertedMasks = new Map<MaskColor, ImageFile | GatewayError>();
  private items: readonly ReplyItem[] = [];
  private createdSeconds = 0;

  constructor(
    private readonly parts: ImageParts,
    private readonly order: ImageOrder,
    readonly input: InferenceInput,
    /** Estimates the usage of `count` images. */
    private readonly estimate: (count: number, servedBy: CatalogModel) => UsageVector,
  ) {}

  async prepare(signal: AbortSignal, candidates: readonly Candidate[]): Promise<void> {
    const { principal, context } = this.input;
    this.parts.memory.assertRoom(principal.organizationId);
    if (this.order.responseFormat === 'url') this.parts.delivery.assertStorable();
    this.shown = await this.parts.inputs.load(this.order.sources, signal, context.memory);
    if (this.order.mask !== null) await this.convertMask(this.order.mask, candidates);
  }

  attempt(candidate: Candidate, call: ProviderCall): Promise<MadeImages> {
    const { prompt, count } = this.order;
    const { maskColor } = candidate.quirks;
    const mask = (maskColor && this.convertedMasks.get(maskColor)) ?? this.order.mask;
    if (mask instanceof GatewayError) return Promise.reject(mask);
    const delivery = this.returnsVendorUrls ? 'url' : 'bytes';
    // The only format of a model needs no choice.
    const format = candidate.model.media?.formats?.length === 1 ? null : this.order.format;
    const { size, quality, style, background, complexity, compression, moderation, inputFidelity, user } = this.order;
    const choices = { size, quality, style, format, background, complexity, compression, moderation, inputFidelity };
    const request = { prompt, count, ...choices, user, images: this.shown, mask, delivery } as const;
    return this.parts.maker.make(request, candidate, call);
  }

  async deliver({ images, outputBytes }: MadeImages): Promise<void> {
    const { principal, context } = this.input;
    const { organizationId } = principal;
    const bytes = outputBytes + base64Bytes(outputBytes);
    // Set before URLs are signed, so that they do not expire earlier than `refresh` assumes.
    this.createdSeconds = Math.floor(this.parts.clock.now() / 1000);
    const owner = { organizationId, id: context.id, trace: context.trace };
    this.items = await this.parts.memory.during(bytes, organizationId, requireMemory(context), () =>
      this.parts.delivery.deliver(images, this.order.responseFormat, owner),
    );
  }

  estimateUsage(_outputBytes: number, servedBy: CatalogModel): UsageVector {
    return this.estimate(this.items.length, servedBy);
  }

  render(_made: MadeImages, bill: Bill): RenderedAnswer {
    return renderImages(this.items, this.createdSeconds, bill);
  }

  refresh(stored: StoredResponse): Promise<StoredContent> {
    const { principal, context } = this.input;
    const bytes = this.order.responseFormat === 'b64_json' ? base64Bytes(stored.body.length) : 0;
    return this.parts.memory.during(bytes, principal.organizationId, requireMemory(context), () =>
      this.parts.delivery.refresh(stored, this.order.responseFormat),
    );
  }

  /** Throws only for the first candidate; a mask that a fallback cannot use fails when the fallback is called. */
  private async convertMask(mask: ImageFile, candidates: readonly Candidate[]): Promise<void> {
    const { organizationId } = this.input.principal;
    for (const [index, { quirks }] of candidates.entries()) {
      const { maskColor } = quirks;
      if (maskColor === undefined || this.convertedMasks.has(maskColor)) continue;
      const converted = await this.parts.masks
        .toBlackAndWhite(mask, maskColor, organizationId)
        .catch((error: unknown) => {
          if (index === 0 || !(error instanceof GatewayError)) throw error;
          return error;
        });
      this.convertedMasks.set(maskColor, converted);
    }
  }

  /** Without storage, the vendor's URLs are returned. */
  private get returnsVendorUrls(): boolean {
    return this.order.responseFormat === 'url' && !this.parts.delivery.canStore;
  }
}

const CREATE = 'createImage';
const EDIT = 'createImageEdit';

/** A validated order with its metering input. */
interface MeteredOrder {
  readonly order: ImageOrder;
  readonly input: InferenceInput;
}

/** The image endpoints on top of the shared inference use case. */
@Injectable()
export class ImagesService {
  private readonly parts: ImageParts;

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly candidates: CandidateSelector,
    private readonly inference: UnaryInferenceService,
    private readonly ratios: TokenRatios,
    inputs: ImageInputs,
    masks: EditMasks,
    maker: ImageMaker,
    memory: ResponseMemory,
    delivery: ImageDelivery,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.parts = { inputs, masks, maker, memory, delivery, clock };
  }

  /** `POST /v1/images/generations`. */
  create(body: ImageRequestDto, context: RequestContext): Promise<Answer> {
    return this.answer(this.orderOf(body, context));
  }

  /** The metering input of a request. @throws GatewayError as {@link create} before it calls a provider */
  describe(body: ImageRequestDto, context: RequestContext): InferenceInput {
    return this.orderOf(body, context).input;
  }

  /** `POST /v1/images/edits`. */
  edit(edit: ImageEdit, context: RequestContext): Promise<Answer> {
    return this.answer(this.orderOfEdit(edit, context));
  }

  /** Like {@link describe}, for an edit. */
  describeEdit(edit: ImageEdit, context: RequestContext): InferenceInput {
    return this.orderOfEdit(edit, context).input;
  }

  private orderOf(body: ImageRequestDto, context: RequestContext): MeteredOrder {
    const sources = this.parts.inputs.parse(body.input_images ?? [], 'input_images');
    const order = toImageOrder(body, { isEdit: false, sources, sourceField: 'input_images', mask: null });
    return this.meterOrder(CREATE, order, requireTarget(this.catalog, context, body, 'image'));
  }

  private orderOfEdit({ body, form }: ImageEdit, context: RequestContext): MeteredOrder {
    const images = form === null ? this.imagesOfJson(body) : this.imagesOfForm(form);
    const order = toImageOrder(body, { isEdit: true, ...images });
    const target = requireTarget(this.catalog, context, body, 'image');
    return this.meterOrder(EDIT, order, form === null ? target : { ...target, body: form });
  }

  private imagesOfJson({ input_images: images }: ImageEditRequestDto): OrderImages {
    return { sources: this.parts.inputs.parse(images, 'input_images'), sourceField: 'input_images', mask: null };
  }

  private imagesOfForm(form: MultipartForm): OrderImages {
    const { inputs } = this.parts;
    const files = form.filesOf('image');
    if (files.length === 0) {
      throw new GatewayError('validation_failed', 'The image to edit is missing.', { param: 'image' });
    }
    const sources = files.map((file, index) => {
      const param = files.length === 1 ? 'image' : `image[${index}]`;
      return { param, image: inputs.fromFile(file, param) };
    });
    const [mask] = form.filesOf('mask');
    const [edited] = sources;
    const isMasked = mask !== undefined && edited !== undefined;
    return { sources, sourceField: 'image', mask: isMasked ? inputs.maskFromFile(mask, 'mask', edited.image) : null };
  }

  private answer({ order, input }: MeteredOrder): Promise<Answer> {
    const estimate = (count: number, servedBy: InferenceTarget['model']) =>
      estimateImages(order, count, this.candidates.select(servedBy), this.ratios.of(servedBy));
    return this.inference.execute(new ImageInference(this.parts, order, input, estimate));
  }

  private meterOrder(operation: string, asked: ImageOrder, target: InferenceTarget): MeteredOrder {
    assertSupported(asked, target.model);
    const candidates = [target.model, ...target.fallbacks].flatMap((model) => this.candidates.select(model));
    const matchesDelivery = this.urlFilter(asked, candidates);
    const order = resolvePricedOptions(asked, target.model, candidates);
    const { size, quality, style, user, count: n } = order;
    const supportsParameters = requiredSupport(target.routing, { n, size, quality, style, user });
    const input: InferenceInput = {
      ...target,
      operation,
      streamed: false,
      estimate: estimateImages(order, n, candidates, this.ratios.of(target.model)),
      pricedBy: { size: size ?? undefined, quality: quality ?? undefined },
      supports: (candidate) =>
        (candidate.model === target.model || canFallBackTo(candidate, order)) &&
        matchesDelivery(candidate) &&
        supportsParameters?.(candidate) !== false,
      atMostOnce: true,
      traits: { image: order.sources.length > 0 },
    };
    return { order, input };
  }

  /**
   * The filter for candidates that can return image URLs when URLs are requested: all of them if storage is configured.
   * @throws GatewayError `not_configured` when none can.
   */
  private urlFilter(
    { responseFormat }: ImageOrder,
    candidates: readonly Candidate[],
  ): (candidate: Candidate) => boolean {
    if (responseFormat !== 'url' || this.parts.delivery.canStore) return () => true;
    if (candidates.length > 0 && !candidates.some(returnsUrls)) {
      const message = 'Image URLs need object storage, which is not configured. Set response_format to b64_json.';
      throw new GatewayError('not_configured', message, { param: 'response_format' });
    }
    return returnsUrls;
  }
}

/** The length of these bytes as base64. */
function base64Bytes(bytes: number): number {
  return Math.ceil((4 / 3) * bytes);
}

/** Whether a deployment of a fallback model supports the order and has a price for it. */
function canFallBackTo(candidate: Candidate, order: ImageOrder): boolean {
  return isSupported(order, candidate.model) && isPriced(order, [candidate]);
}

function returnsUrls({ quirks }: Candidate): boolean {
  return givesImageUrls(quirks);
}
