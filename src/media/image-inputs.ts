import { Injectable } from '@nestjs/common';
import { GatewayError } from '../common/errors/gateway-error';
import { type ImageContentType, sniffImageType } from '../common/image-format';
import type { MemoryClaim } from '../common/request-context';
import type { FormFile } from '../common/multipart-form';
import { ByteBudget } from '../outbound/byte-budget';
import { OutboundClient } from '../outbound/outbound-client';
import { base64Length, decodeBase64 } from './base64';
import { readDimensions } from './image-header';

const MIB = 1_048_576;
const MAX_IMAGE_BYTES = 20 * MIB;
/** Of all images of one request. */
const MAX_TOTAL_BYTES = 50 * MIB;
/** What decoders of vendors take, and what they can be made to allocate for it. */
const MAX_SIDE_PIXELS = 16_384;
const MAX_PIXELS = 64 * MIB;

const DATA_URL = /^data:[\w.+/-]{0,100}(?:;[\w.+-]{1,40}=[\w.+"-]{0,80}){0,4};base64,/i;
/** Longer than the longest prefix that it allows. */
const DATA_URL_HEAD_LENGTH = 1_024;

/** An image that has been looked at: its type is what its first bytes say, whatever was claimed. */
export interface ImageInput {
  readonly bytes: Buffer;
  readonly contentType: ImageContentType;
}

/** An image of which everything is known that can be known without I/O. */
export type ParsedImage =
  { readonly param: string; readonly image: ImageInput } | { readonly param: string; readonly url: string };

/**
 * Images that clients send, as files, base64 or addresses, made sure of before anybody has to decode them: png, jpeg,
 * webp or gif by their first bytes, at most 16,384 pixels a side and 64 megapixels by their header. What follows the
 * header is passed on as it is: a file that is something else besides, or has something behind its end, is an image to
 * whoever reads it as one, and the gateway gives it to nobody else.
 */
@Injectable()
export class ImageInputs {
  constructor(private readonly outbound: OutboundClient) {}

  /**
   * Looks at `input_images` and the like, without I/O: https address, data URL or bare base64 each.
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
   * The images in their order; what is an address is fetched, all of them at once.
   * @param memory where what is fetched counts.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, with the item as `param`; `service_unavailable` without memory.
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
      // The first failure is the answer: nobody waits for the others.
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

function decode(text: string, param: string): Buffer {
  if (text.length > base64Length(MAX_IMAGE_BYTES)) {
    throw refused(`${param} may have at most ${MAX_IMAGE_BYTES} bytes.`, param);
  }
  const bytes = decodeBase64(text);
  if (bytes === null) throw refused(`${param} must be an https address, a data URL or base64.`, param);
  return bytes;
}

/** Of the images that need not be fetched. */
function inlineBytes(parsed: readonly ParsedImage[]): number {
  return parsed.reduce((sum, source) => sum + ('image' in source ? source.image.bytes.length : 0), 0);
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
