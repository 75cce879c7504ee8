import type { ImageContentType } from '../types/image-format';

/** Pixels. */
export interface ImageDimensions {
  readonly width: number;
  readonly height: number;
}

/** Maximum number of segments before the picture, above any encoder's output. */
const MAX_JPEG_SEGMENTS = 4_096;
const [START_OF_SCAN, FIRST_RESTART, LAST_STANDALONE] = [0xda, 0xd0, 0xd9];
/** Markers from 0xc0 to 0xcf that do not start a frame. */
const NO_FRAME: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc]);

/**
 * Reads the size of an image from its header like decoders do: at fixed offsets, or segment by segment. `null`: not a
 * supported image, or truncated. Reads only the first bytes, and for JPEG the segment headers; nothing is decompressed.
 */
export function readDimensions(bytes: Buffer, type: ImageContentType): ImageDimensions | null {
  switch (type) {
    case 'image/png':
      return readPng(bytes);
    case 'image/gif':
      return bytes.length < 13 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
    case 'image/webp':
      return readWebp(bytes);
    case 'image/jpeg':
      return readJpeg(bytes);
  }
}

function readPng(bytes: Buffer): ImageDimensions | null {
  if (bytes.length < 33 || bytes.readUInt32BE(8) !== 13 || bytes.toString('latin1', 12, 16) !== 'IHDR') return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readWebp(bytes: Buffer): ImageDimensions | null {
  if (bytes.length < 30) return null;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return null;
      const packed = bytes.readUInt32LE(21);
      return { width: 1 + (packed & 0x3fff), height: 1 + ((packed >>> 14) & 0x3fff) };
    }
    case 'VP8 ':
      if (bytes.readUIntBE(23, 3) !== 0x9d012a) return null;
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return null;
  }
}

/** The first frame counts; it must precede the first scan. */
function readJpeg(bytes: Buffer): ImageDimensions | null {
  let at = 2;
  for (let segments = 0; segments < MAX_JPEG_SEGMENTS; segments++) {
    if (bytes[at] !== 0xff) return null;
    while (bytes[at + 1] === 0xff) at++;
    const marker = bytes[at + 1];
    if (marker === undefined || marker === 0 || at + 4 > bytes.length) return null;
    if (marker === START_OF_SCAN || (marker >= FIRST_RESTART && marker <= LAST_STANDALONE)) return null;
    const length = bytes.readUInt16BE(at + 2);
    if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME.has(marker)) {
      if (length < 8 || at + 9 > bytes.length) return null;
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    if (length < 2) return null;
    at += 2 + length;
  }
  return null;
}
