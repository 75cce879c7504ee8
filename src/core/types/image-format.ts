/** The supported image types, detected by their first bytes. */
export type ImageContentType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

/** `null`: not supported. */
export function sniffImageType(bytes: Buffer): ImageContentType | null {
  if (startsWith(bytes, PNG)) return 'image/png';
  if (startsWith(bytes, JPEG)) return 'image/jpeg';
  const head = bytes.toString('latin1', 0, 12);
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'image/webp';
  return /^GIF8[79]a/.test(head) ? 'image/gif' : null;
}

function startsWith(bytes: Buffer, magic: Buffer): boolean {
  return bytes.length >= magic.length && bytes.compare(magic, 0, magic.length, 0, magic.length) === 0;
}
