/**
 * Images by Stability AI: `POST /v2beta/stable-image/generate/…`, a form even without a file, and `…/edit/inpaint` for
 * masked edits. Input images without a mask are not offered: the endpoints for them require a strength.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { aspectRatioOf, imageOfBase64, maskedImage, notImages, refuseOptions } from '../../kit/image-replies';
import { parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { contentFiltered } from '../../kit/upstream-errors';

const RATIOS = ['1:1', '16:9', '9:16', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21'];
/** Stable Diffusion 3 models share an endpoint, which takes the model's name. */
const DIFFUSION_3 = /^sd3/;
/** The service that edits the white area of a mask; its images have the size of the input. */
const INPAINT = 'inpaint';

export class StabilityImages implements ImagesProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const { upstreamModel } = call;
    const form = upstreamModel === INPAINT ? toInpaintForm(request) : toGenerationForm(request, call);
    const target = this.http.endpoint(`stable-image/${serviceOf(upstreamModel)}`);
    return fromGeneration(await this.http.post(target, form, call));
  }
}

function serviceOf(upstreamModel: string): string {
  if (upstreamModel === INPAINT) return 'edit/inpaint';
  return `generate/${DIFFUSION_3.test(upstreamModel) ? 'sd3' : encodeURIComponent(upstreamModel)}`;
}

/** @throws ProviderError `validation_failed` with `param` */
function toInpaintForm(request: ImageRequest): MultipartBody {
  refuseOptions(request, 'size', 'quality');
  const { image, mask } = maskedImage(request);
  const parts: FormPart[] = [
    { name: 'prompt', value: request.prompt },
    { name: 'output_format', value: 'png' },
    { name: 'image', fileName: 'image', ...image },
    { name: 'mask', fileName: 'mask', ...mask },
  ];
  if (request.style !== null) parts.push({ name: 'style_preset', value: request.style });
  return new MultipartBody(parts);
}

/** @throws ProviderError `validation_failed` with `param` */
function toGenerationForm(request: ImageRequest, { upstreamModel }: ProviderCall): MultipartBody {
  refuseOptions(request, 'quality', 'mask');
  const { prompt, size, style, images } = request;
  if (images.length > 0) throw unsupported('input_images');
  const parts: FormPart[] = [
    { name: 'prompt', value: prompt },
    { name: 'output_format', value: 'png' },
  ];
  if (DIFFUSION_3.test(upstreamModel)) parts.push({ name: 'model', value: upstreamModel });
  if (size !== null) parts.push({ name: 'aspect_ratio', value: aspectRatioOf(size, RATIOS) });
  if (style !== null) parts.push({ name: 'style_preset', value: style });
  return new MultipartBody(parts);
}

function fromGeneration(body: Buffer): ImageResult {
  const reply = parseJsonObject(body);
  if (reply === null) throw notImages();
  if (reply['finish_reason'] === 'CONTENT_FILTERED') throw contentFiltered({}, 'CONTENT_FILTERED');
  return { images: [imageOfBase64(reply['image'])], usage: null };
}
