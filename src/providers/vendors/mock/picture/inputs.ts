import { imageSize } from 'image-size';
import type { ImageFile } from '../../../contract/images';

/** Describes the images of a request, in a few words for each kind. */
export function describeInputs(images: readonly ImageFile[], mask: ImageFile | null): string[] {
  const [first] = images;
  if (first === undefined) return [];
  const others = images.length === 1 ? '' : ` and ${images.length - 1} more`;
  return [`from ${describe(first)}${others}${mask === null ? '' : `, masked by ${describe(mask)}`}`];
}

function describe({ bytes, contentType }: ImageFile): string {
  const type = contentType.replace('image/', '').toUpperCase();
  try {
    const { width, height } = imageSize(bytes);
    return `a ${type} of ${width}x${height}`;
  } catch {
    return `a ${type}`;
  }
}
