/**
 * Images by Stability AI: `POST /v2beta/stable-image/generate/…`, a form even without a file. Input images are not offered:
 * its endpoints for them need a strength, and masks whose meaning is opposite to that of the contract.
 */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { aspectRatioOf, imageOfBase64, notImages, refuseOptions } from '../../kit/image-replies';
import { parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { contentFiltered } from '../../kit/upstream-errors';

const RATIOS = ['1:1', '16:9', '9:16', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21'];
/** These share an endpoint, which takes the name of the model. */
const DIFFUSION_3 = /^sd3/;

export class StabilityImages implements ImagesProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const form = toGenerationForm(request, call);
    const family = DIFFUSION_3.test(call.upstreamModel) ? 'sd3' : encodeURIComponent(call.upstreamModel);
    const target = this.http.endpoint(`stable-image/generate/${family}`);
    return fromGeneration(await this.http.post(target, form, call));
  }
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
