import { Injectable } from '@nestjs/common';
import { Matches } from 'class-validator';
import { IMAGE_SOURCE } from '../../contract/patterns';
import { GatewayError } from '../errors/gateway-error';
import { type ImageContentType, sniffImageType } from '../types/image-format';
import type { MemoryClaim } from '../types/request-context';
import type { FormFile } from '../types/multipart-form';
import { ByteBudget } from '../outbound/byte-budget';
import { OutboundClient } from '../outbound/outbound-client';

const MIB = 1_048_576;
const MAX_IMAGE_BYTES = 20 * MIB;
/** Of all images of one request. */
const MAX_TOTAL_BYTES = 50 * MIB;
/** Limits of vendors' decoders and their memory use. */
const MAX_SIDE_PIXELS = 16_384;
const MAX_PIXELS = 64 * MIB;

const DATA_URL = /^data:[\w.+/-]{0,100}(?:;[\w.+-]{1,40}=[\w.+"-]{0,80}){0,4};base64,/i;
/** Longer than the longest allowed prefix. */
const DATA_URL_HEAD_LENGTH = 1_024;

/** A validated image: its type is detected from its first bytes, regardless of the declared type. */
export interface ImageInput {
  readonly bytes: Buffer;
  readonly contentType: ImageContentType;
}

/** An image after all checks that need no I/O. */
export type ParsedImage =
  { readonly param: string; readonly image: ImageInput } | { readonly param: string; readonly url: string };

/**
 * Validates images from clients (files, base64 or URLs) before they are decoded: png, jpeg, webp or gif by their first
 * bytes, at most 16,384 pixels a side and 64 megapixels by their header. The rest is passed on unchanged: polyglot
 * files and trailing bytes are harmless, because only image readers receive them.
 */
@Injectable()
export class ImageInputs {
  constructor(private readonly outbound: OutboundClient) {}

  /**
   * Parses `input_images` and similar fields without I/O: each item is an https URL, a data URL or bare base64.
   * @param param name of the field; an error names the item, as in `input_images[2]`.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`.
   */
  parse(sources: readonly string[], param: string): readonly ParsedImage[] {
    const parsed = sources.map((source, index) => this.parseOne(source, `${param}[${index}]`));
    if (inlineBytes(parsed) > MAX_TOTAL_BYTES) {
      throw refused(`${param} may have at most ${MAX_TOTAL_BYTES} bytes in all.`, param);
    }
    return parsed;
  }

  /** @throws GatewayError `validation_failed` with `param`. */
  fromFile({ bytes }: FormFile, param: string): ImageInput {
    return verifyImage(bytes, param);
  }

  /**
   * @throws GatewayError `validation_failed` with `param` unless it is a PNG image of the same size as the one to edit.
   */
  maskFromFile(file: FormFile, param: string, edited: ImageInput): ImageInput {
    const mask = this.fromFile(file, param);
    if (mask.contentType !== 'image/png') throw refused(`${param} must be a PNG image.`, param);
    const [size, expected] = [sizeOf(mask), sizeOf(edited)];
    if (size === expected) return mask;
    throw refused(`${param} must be as large as the image to edit: ${expected} pixels, not ${size}.`, param);
  }

  /**
   * Loads the images in order; URLs are fetched in parallel.
   * @param memory the claim for the fetched bytes.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, with the item as `param`; `service_unavailable` without
   * memory.
   */
  async load(
    parsed: readonly ParsedImage[],
    signal: AbortSignal,
    memory: MemoryClaim | null = null,
  ): Promise<ImageInput[]> {
    const giveUp = new AbortController();
    const either = AbortSignal.any([signal, giveUp.signal]);
    const budget = new ByteBudget(MAX_TOTAL_BYTES - inlineBytes(parsed), memory);
    const load = async (source: ParsedImage): Promise<ImageInput> => {
      if ('image' in source) return source.image;
      const { bytes } = await this.outbound.fetchImage(source.url, source.param, either, budget);
      return verifyImage(bytes, source.param);
    };
    try {
      return await Promise.all(parsed.map(load));
    } finally {
      // The first failure is reported without waiting for the others.
      giveUp.abort();
    }
  }

  private parseOne(source: string, param: string): ParsedImage {
    const head = source.slice(0, DATA_URL_HEAD_LENGTH);
    const [prefix] = DATA_URL.exec(head) ?? [];
    if (prefix !== undefined) return { param, image: verifyImage(decode(source.slice(prefix.length), param), param) };
    if (!head.includes(':')) return { param, image: verifyImage(decode(source, param), param) };
    this.outbound.assertPublicUrl(source, param);
    return { param, url: source };
  }
}

/**
 * An image whose header has been read.
 * @throws GatewayError `validation_failed` with `param` when it is none of the four types, or too large.
 */
export function verifyImage(bytes: Buffer, param: string): ImageInput {
  const contentType = sniffImageType(bytes);
  const dimensions = contentType === null ? null : readDimensions(bytes, contentType);
  if (contentType === null || dimensions === null) {
    throw refused(`${param} must be a PNG, JPEG, WebP or GIF image.`, param);
  }
  const { width, height } = dimensions;
  if (width === 0 || height === 0) throw refused(`${param} is an image without pixels.`, param);
  if (Math.max(width, height) > MAX_SIDE_PIXELS || width * height > MAX_PIXELS) {
    throw refused(`${param} may have at most ${MAX_SIDE_PIXELS} pixels a side and ${MAX_PIXELS} in all.`, param);
  }
  return { bytes, contentType };
}

/** Such as `1024x768`. */
function sizeOf({ bytes, contentType }: ImageInput): string {
  const dimensions = readDimensions(bytes, contentType);
  return `${dimensions?.width}x${dimensions?.height}`;
}

function decode(text: string, param: string): Buffer {
  if (text.length > base64Length(MAX_IMAGE_BYTES)) {
    throw refused(`${param} may have at most ${MAX_IMAGE_BYTES} bytes.`, param);
  }
  const bytes = decodeBase64(text);
  if (bytes === null) throw refused(`${param} must be an https URL, a data URL or base64.`, param);
  return bytes;
}

/** Total size of the inline images. */
function inlineBytes(parsed: readonly ParsedImage[]): number {
  return parsed.reduce((sum, source) => sum + ('image' in source ? source.image.bytes.length : 0), 0);
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}

/** Encoded length of the given number of bytes. */
function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/**
 * Decodes strict RFC 4648 base64: with padding, without spaces and without leftover bits. `null` for any other text;
 * Node alone skips unknown characters.
 */
function decodeBase64(text: string): Buffer | null {
  if (text.length === 0 || text.length % 4 !== 0) return null;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // Skipped characters and padding in the middle make the result shorter.
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // Node also accepts the URL alphabet.
  if (text.includes('-') || text.includes('_')) return null;
  const lastBytes = bytes.subarray(bytes.length - (3 - padding));
  return lastBytes.toString('base64') === text.slice(-4) ? bytes : null;
}

/** Pixels. */
interface ImageDimensions {
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

/** Image URLs or base64 images; their content is checked later. */
export function AreImageSources(): PropertyDecorator {
  const message = '$property must be an https URL, a data URL of an image, or base64';
  return Matches(IMAGE_SOURCE, { each: true, message });
}
