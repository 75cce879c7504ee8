/** Checks of replies, sizes and options that the image adapters share. */
import { sniffImageType } from '../../core/types/image-format';
import type { GeneratedImage, ImageFile, ImageRequest } from '../contract/images';
import { ProviderError } from '../contract/provider-error';
import { decodeBase64 } from './json';
import { unsupported } from './unsupported';

const MAX_URL_LENGTH = 8 * 1024;

/** @throws ProviderError unless the text is an image in base64 */
export function imageOfBase64(text: unknown): GeneratedImage {
  const bytes = typeof text === 'string' ? decodeBase64(text) : null;
  if (bytes === null) throw notImages('an image that is not base64');
  if (sniffImageType(bytes) === null) throw notImages('an image in an unknown format');
  return { bytes, revisedPrompt: null };
}

/** An image at a host that the vendor names; it is fetched through the outbound guard. @throws ProviderError */
export function imageOfUrl(url: unknown): GeneratedImage {
  if (!isImageUrl(url)) throw notImages('an image without its address');
  return { url, revisedPrompt: null };
}

/** Whether the value is a URL from which an image can be fetched. */
export function isImageUrl(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(value) && URL.canParse(value)
  );
}

/** The upstream responded with something other than images. */
export function notImages(what = 'a response that is not an image'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}

/** @throws ProviderError `validation_failed` with `param` for an option that the upstream does not have */
export function refuseOptions(
  request: ImageRequest,
  ...options: readonly ('size' | 'quality' | 'style' | 'mask')[]
): void {
  const option = options.find((each) => request[each] !== null);
  if (option !== undefined) throw unsupported(option);
}

/**
 * The input of a service that only edits the masked area of one image.
 * @throws ProviderError `validation_failed` with `param`
 */
export function maskedImage({ images, mask }: ImageRequest): { readonly image: ImageFile; readonly mask: ImageFile } {
  const [image, ...others] = images;
  if (image === undefined) throw unsupported('input_images', 'This model needs an input image.');
  if (others.length > 0) throw unsupported('input_images', 'This model takes one input image.');
  if (mask === null) throw unsupported('mask', 'This model needs a mask.');
  return { image, mask };
}

/**
 * Width and height of a size such as `1024x1536`, in pixels. @throws ProviderError `validation_failed` for any other
 * text
 */
export function pixelsOf(size: string): { readonly width: number; readonly height: number } {
  const [, width = 0, height = 0] = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(size)?.map(Number) ?? [];
  if (width === 0 || height === 0) throw unsupported('size');
  return { width, height };
}

/** How far an aspect ratio may deviate: sizes are rounded to the multiples that a model works with. */
const RATIO_TOLERANCE = 0.04;

/**
 * The supported aspect ratio of a size, such as `16:9`.
 * @throws ProviderError `validation_failed` if the size has none of the supported ratios
 */
export function aspectRatioOf(size: string, ratios: readonly string[]): string {
  const { width, height } = pixelsOf(size);
  const wanted = Math.log(width / height);
  const offsets = ratios.map((ratio) => {
    const [across = 1, down = 1] = ratio.split(':').map(Number);
    return { ratio, offset: Math.abs(Math.log(across / down) - wanted) };
  });
  const [nearest] = offsets.toSorted((one, next) => one.offset - next.offset);
  if (nearest === undefined || nearest.offset > RATIO_TOLERANCE) throw unsupported('size');
  return nearest.ratio;
}
