/**
 * Images by Gemini models: `POST …:generateContent` (https://ai.google.dev/gemini-api/docs/image-generation). One image
 * per call. Imagen was shut down on 2026-08-17 (https://ai.google.dev/gemini-api/docs/deprecations).
 */
import type { GeneratedImage, ImageFile, ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import type { UsageVector } from '../../contract/usage';
import { aspectRatioOf, imageOfBase64, notImages, pixelsOf, refuseOptions } from '../../kit/image-replies';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { contentFiltered, mapInBandError } from '../../kit/upstream-errors';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { ModelEndpoints } from './model-endpoints';
import { isWithheld, toEnumValue } from './response-reader';
import { toUsage } from './usage';

const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9', '1:4', '4:1', '1:8', '8:1'];
/** Names of resolutions, by the maximum number of pixels. */
const RESOLUTIONS: readonly (readonly [maxPixels: number, name: string])[] = [
  [500_000, '512'],
  [2_000_000, '1K'],
  [8_000_000, '2K'],
  [32_000_000, '4K'],
];

export class GeminiImages implements ImagesProvider {
  private readonly endpoints: ModelEndpoints;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.endpoints = new ModelEndpoints(http, 'generateContent');
  }

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const body = JSON.stringify(toImageRequest(request));
    return fromImageReply(await this.http.post(this.endpoints.of(call.upstreamModel), body, call));
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toImageRequest(request: ImageRequest): JsonObject {
  refuseOptions(request, 'quality', 'style', 'mask');
  const { prompt, images, size } = request;
  return {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...images.map(toPart)] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(size !== null && {
        imageConfig: { aspectRatio: aspectRatioOf(size, RATIOS), imageSize: resolutionOf(size) },
      }),
    },
  };
}

function toPart({ bytes, contentType }: ImageFile): JsonObject {
  return { inlineData: { mimeType: contentType, data: bytes.toString('base64') } };
}

function resolutionOf(size: string): string | undefined {
  const { width, height } = pixelsOf(size);
  return RESOLUTIONS.find(([maxPixels]) => width * height <= maxPixels)?.[1];
}

/** Pure. @throws ProviderError for anything but an image */
export function fromImageReply(body: Buffer): ImageResult {
  const reply = parseJsonObject(body);
  if (reply === null) throw notImages();
  if (reply['error'] != null) throw mapInBandError(reply, 'first_token');
  const { candidates, promptFeedback, usageMetadata } = reply;
  if (isJsonObject(promptFeedback) && promptFeedback['blockReason'] != null) {
    throw contentFiltered({}, toEnumValue(promptFeedback['blockReason']));
  }
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
  if (!isJsonObject(candidate)) throw notImages('no images');
  const image = findImage(candidate['content']);
  if (image === null) {
    const { finishReason } = candidate;
    throw isWithheld(finishReason) ? contentFiltered({}, toEnumValue(finishReason)) : notImages('no images');
  }
  const usage = toUsage(usageMetadata);
  return { images: [image], usage: usage === null ? null : { ...withImageTokens(usage), images: 1 } };
}

/** Without details by modality, all output would count as text, which costs a tenth, although an image was made. */
function withImageTokens(usage: UsageVector): UsageVector {
  return usage.outputImage > 0 ? usage : { ...usage, outputText: 0, outputImage: usage.outputText };
}

/** The last image: a model that reasons draws sketches first, as thoughts. */
function findImage(content: unknown): GeneratedImage | null {
  const parts: unknown = isJsonObject(content) ? content['parts'] : undefined;
  const drawn = (Array.isArray(parts) ? (parts as readonly unknown[]) : []).findLast(
    (part): part is JsonObject => isJsonObject(part) && part['thought'] !== true && isJsonObject(part['inlineData']),
  );
  return drawn === undefined ? null : imageOfBase64((drawn['inlineData'] as JsonObject)['data']);
}
