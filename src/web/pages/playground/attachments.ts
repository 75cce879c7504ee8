import { formatBytes } from '../../format/count';
import type { Attachment } from './chat-request';

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const MAX_TEXT_BYTES = 512 * 1024;

/** Reads a dropped file. @throws Error with a message for the user. */
export async function readAttachment(file: File, acceptsImages: boolean): Promise<Attachment> {
  const { name, type, size } = file;
  const isImage = IMAGE_TYPES.has(type);
  if (isImage && !acceptsImages) throw new Error(`${name}: one of the models does not read images.`);
  const maxBytes = isImage ? MAX_IMAGE_BYTES : MAX_TEXT_BYTES;
  if (size > maxBytes) throw new Error(`${name} is larger than ${formatBytes(maxBytes)}.`);
  if (isImage) return { name, kind: 'image', content: await toDataUrl(file) };
  try {
    const content = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return { name, kind: 'text', content };
  } catch {
    throw new Error(`${name} is neither text nor a PNG, JPEG, WebP or GIF image.`);
  }
}

function toDataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file could not be read.')));
    reader.readAsDataURL(file);
  });
}

/** The bytes of a `data:` URL in base64. */
export function blobOf(dataUrl: string): Blob {
  const [head = '', base64 = ''] = dataUrl.split(',', 2);
  const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
  return new Blob([bytes], { type: /^data:([^;]+)/.exec(head)?.[1] });
}
