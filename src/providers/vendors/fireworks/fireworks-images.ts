/** Images by Fireworks (https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt). */
import type { ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { aspectRatioOf, imageOfBase64, notImages, refuseOptions } from '../../kit/image-replies';
import { type JsonObject, parseJsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { contentFiltered } from '../../kit/upstream-errors';

const RATIOS = ['1:1', '21:9', '16:9', '3:2', '5:4', '4:5', '2:3', '9:16', '9:21', '4:3', '3:4'];
const DATA_URL_HEAD = /^data:image\/[a-z]+;base64,/;

export class FireworksImages implements ImagesProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const body = JSON.stringify(toWorkflow(request));
    const model = call.upstreamModel.split('/').map(encodeURIComponent).join('/');
    return fromWorkflow(await this.http.post(this.http.endpoint(`workflows/${model}/text_to_image`), body, call));
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toWorkflow(request: ImageRequest): JsonObject {
  refuseOptions(request, 'quality', 'style', 'mask');
  const { prompt, size, images } = request;
  if (images.length > 0) throw unsupported('input_images');
  return { prompt, ...(size !== null && { aspect_ratio: aspectRatioOf(size, RATIOS) }) };
}

function fromWorkflow(body: Buffer): ImageResult {
  const reply = parseJsonObject(body);
  if (reply === null) throw notImages();
  if (reply['finishReason'] === 'CONTENT_FILTERED') throw contentFiltered({}, 'CONTENT_FILTERED');
  const first: unknown = Array.isArray(reply['base64']) ? reply['base64'][0] : undefined;
  if (typeof first !== 'string') throw notImages('no images');
  return { images: [imageOfBase64(first.replace(DATA_URL_HEAD, ''))], usage: null };
}
