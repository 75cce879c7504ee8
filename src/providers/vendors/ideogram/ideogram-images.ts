/**
 * Images by Ideogram. Requests are forms, even without a file.
 *
 * Ideogram 3.0 belongs to version 1 of the API (https://developer.ideogram.ai/api-reference/api-reference/generate-v3).
 * An input image goes to `remix`, one with a mask to `inpaint`, whose images have the size of the input
 * (https://developer.ideogram.ai/ideogram-api/masked-edits).
 *
 * Ideogram 4.5 has two endpoints in version 2, whose paths serve as upstream model names: `image/generate/ideogram-4-5`
 * and `image/precise-edit/ideogram-4-5`
 * (https://developer.ideogram.ai/v2/api-reference/images/precise-edit/ideogram-4-5.md).
 */
import type { GeneratedImage, ImageFile, ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { aspectRatioOf, imageOfUrl, notImages, refuseOptions } from '../../kit/image-replies';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { asRefusal } from '../../kit/video-jobs';
import { contentFiltered } from '../../kit/upstream-errors';

/** Sizes that version 1 produces exactly. */
const RESOLUTIONS: ReadonlySet<string> = new Set(
  (
    '512x1536 576x1408 576x1472 576x1536 640x1344 640x1408 640x1472 640x1536 704x1152 704x1216 704x1280 ' +
    '704x1344 704x1408 704x1472 736x1312 768x1088 768x1216 768x1280 768x1344 800x1280 832x960 832x1024 ' +
    '832x1088 832x1152 832x1216 832x1248 864x1152 896x960 896x1024 896x1088 896x1120 896x1152 960x832 ' +
    '960x896 960x1024 960x1088 1024x832 1024x896 1024x960 1024x1024 1088x768 1088x832 1088x896 1088x960 ' +
    '1120x896 1152x704 1152x832 1152x864 1152x896 1216x704 1216x768 1216x832 1248x832 1280x704 1280x768 ' +
    '1280x800 1312x736 1344x640 1344x704 1344x768 1408x576 1408x640 1408x704 1472x576 1472x640 1472x704 ' +
    '1536x512 1536x576 1536x640'
  ).split(' '),
);
/** Aspect ratios for all other sizes; Ideogram writes them with an `x`. */
const RATIOS = [
  '1:1',
  '1:2',
  '2:1',
  '1:3',
  '3:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '10:16',
  '16:10',
];
/** Price tiers of version 1, by the contract's usual names for qualities. */
const SPEEDS: Readonly<Record<string, string>> = { low: 'TURBO', medium: 'DEFAULT', high: 'QUALITY' };
const STYLES = ['GENERAL', 'REALISTIC', 'DESIGN', 'FICTION'];
/** Qualities of version 2. */
const QUALITIES = ['low', 'medium', 'high'];
/** The edited image, its references and the mask together. */
const MAX_EDIT_FILES = 5;
/** The status for a prompt or an image that the safety check refuses. */
const UNSAFE = 422;

export class IdeogramImages implements ImagesProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const [path, parts] = toExchange(request, call.upstreamModel);
    const target = this.http.endpoint(path);
    return fromGeneration(await this.http.post(target, new MultipartBody(parts), call).catch(refused), request);
  }
}

/** @throws ProviderError `validation_failed` with `param` */
function toExchange(request: ImageRequest, model: string): [path: string, form: FormPart[]] {
  const version2 = `../v2/${model}`;
  if (model.startsWith('image/generate/')) return [version2, toGeneration(request)];
  if (model.startsWith('image/precise-edit/')) return [version2, toPreciseEdit(request)];
  return [`${encodeURIComponent(model)}/${operationOf(request)}`, toVersion1(request)];
}

function toGeneration(request: ImageRequest): FormPart[] {
  const { size, images } = request;
  if (images.length > 0) throw unsupported('input_images', 'This model takes no input image.');
  return [...toVersion2(request), ...(size === null ? [] : [{ name: 'size', value: size }])];
}

/** A precise edit returns images in the size of the input image. */
function toPreciseEdit(request: ImageRequest): FormPart[] {
  const { images, mask } = request;
  const [image, ...references] = images;
  if (image === undefined) throw unsupported('input_images', 'This model needs an input image.');
  refuseOptions(request, 'size');
  const files = [toFile('image', image), ...references.map((reference) => toFile('reference_images', reference))];
  if (mask !== null) files.push(toFile('mask', mask));
  if (files.length > MAX_EDIT_FILES) {
    throw unsupported('input_images', `This model takes at most ${MAX_EDIT_FILES} input images, with the mask.`);
  }
  return [...toVersion2(request), ...files];
}

function toVersion2(request: ImageRequest): FormPart[] {
  const { prompt, count, quality } = request;
  refuseOptions(request, 'style');
  const level = quality ?? 'medium';
  if (!QUALITIES.includes(level)) throw unsupported('quality');
  return [
    { name: 'prompt', value: prompt },
    { name: 'num_images', value: String(count) },
    { name: 'quality', value: level },
  ];
}

function toFile(name: string, { contentType, bytes }: ImageFile): FormPart {
  return { name, fileName: name, contentType, bytes };
}

function operationOf({ images, mask }: ImageRequest): string {
  if (images.length === 0) return 'generate';
  return mask === null ? 'remix' : 'inpaint';
}

function toVersion1(request: ImageRequest): FormPart[] {
  const { prompt, count, size, quality, style, images, mask } = request;
  const [image, ...others] = images;
  if (others.length > 0) throw unsupported('input_images', 'This model takes one input image.');
  const parts: FormPart[] = [
    { name: 'prompt', value: prompt },
    { name: 'num_images', value: String(count) },
    { name: 'rendering_speed', value: speedOf(quality) },
  ];
  if (mask !== null) refuseOptions(request, 'size');
  if (size !== null) parts.push(measureOf(size));
  if (style !== null) parts.push({ name: 'style_type', value: styleOf(style) });
  if (image !== undefined) parts.push(toFile('image', image));
  if (mask !== null) parts.push(toFile('mask', mask));
  return parts;
}

function measureOf(size: string): FormPart {
  if (RESOLUTIONS.has(size)) return { name: 'resolution', value: size };
  return { name: 'aspect_ratio', value: aspectRatioOf(size, RATIOS).replace(':', 'x') };
}

function speedOf(quality: string | null): string {
  const speed = SPEEDS[quality ?? 'medium'];
  if (speed === undefined) throw unsupported('quality');
  return speed;
}

function styleOf(style: string): string {
  const name = style.toUpperCase();
  if (!STYLES.includes(name)) throw unsupported('style');
  return name;
}

/** The gateway writes the form, so a 400 concerns the prompt or the image. */
function refused(error: unknown): never {
  if (!(error instanceof ProviderError)) throw error;
  throw error.options.upstream?.status === UNSAFE ? contentFiltered(error.options) : asRefusal(error);
}

/** Images judged unsafe have no URL; the others are delivered. */
function fromGeneration(body: Buffer, { prompt }: ImageRequest): ImageResult {
  const data = parseJsonObject(body)?.['data'];
  const made = Array.isArray(data) ? (data as readonly unknown[]).filter(isJsonObject) : [];
  if (made.length === 0) throw notImages();
  const safe = made.filter((image) => image['is_image_safe'] !== false);
  if (safe.length === 0) throw contentFiltered({}, 'is_image_safe');
  return { images: safe.map((image) => toImage(image, prompt)), usage: null };
}

/** The URL expires. Ideogram may have rewritten the prompt ("magic prompt"). */
function toImage({ url, prompt }: JsonObject, given: string): GeneratedImage {
  const revisedPrompt = typeof prompt === 'string' && prompt !== given ? prompt : null;
  return { ...imageOfUrl(url), revisedPrompt };
}
