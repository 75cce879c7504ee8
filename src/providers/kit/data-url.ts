import type { ImageFile } from '../contract/images';

/** An image within JSON. */
export function toDataUrl({ bytes, contentType }: ImageFile): string {
  return `data:${contentType};base64,${bytes.toString('base64')}`;
}
