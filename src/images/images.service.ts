import { Inject, Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import type { MultipartForm } from '../core/types/multipart-form';
import type { RequestContext } from '../core/types/request-context';
import { CandidateSelector } from '../inference/candidate-selector';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import { requiredSupport } from '../inference/parameter-support';
import { type InferenceTarget, requireTarget } from '../inference/require-target';
import { TokenRatios } from '../inference/token-ratio.service';
import { UnaryInferenceService } from '../inference/unary-inference.service';
import { ImageInputs } from '../core/media/image-inputs';
import { ModelCatalogService } from '../models/model-catalog.service';
import { givesImageUrls } from '../providers/contract/images';
import type { ImageEditRequestDto } from './dto/image-edit-request.dto';
import type { ImageRequestDto } from './dto/image-request.dto';
import type { ImageEdit } from './image-edit.pipe';
import { ImageDelivery } from './image-delivery';
import { estimateImages } from './image-estimate';
import { ImageMaker } from './image-maker';
import { type ImageOrder, type OrderImages, toImageOrder } from './image-order';
import { ImageInference, type ImageParts } from './image-inference';
import { assertSupported, isSupported } from './image-support';
import { isPriced, resolvePricedOptions } from './name-what-is-priced';

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
    maker: ImageMaker,
    delivery: ImageDelivery,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.parts = { inputs, maker, delivery, clock };
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
    return { sources, sourceField: 'image', mask: mask === undefined ? null : inputs.fromFile(mask, 'mask') };
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

/** Whether a deployment of a fallback model supports the order and has a price for it. */
function canFallBackTo(candidate: Candidate, order: ImageOrder): boolean {
  return isSupported(order, candidate.model) && isPriced(order, [candidate]);
}

function returnsUrls({ quirks }: Candidate): boolean {
  return givesImageUrls(quirks);
}
