import { Injectable, Logger } from '@nestjs/common';
import { imageSize } from 'image-size';
import type { CompiledPrice } from '../billing/pricing/price';
import { sniffImageType } from '../core/types/image-format';
import { GatewayError } from '../core/errors/gateway-error';
import type { Candidate } from '../inference/inference.types';
import { callTogether } from '../inference/parallel-calls';
import type { MeteredResult } from '../inference/unary-inference.service';
import { OutboundClient } from '../core/outbound/outbound-client';
import {
  type GeneratedImage,
  type ImageFile,
  type ImageRequest,
  type ImagesProvider,
  outputFields,
} from '../providers/contract/images';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { unsupported } from '../providers/kit/unsupported';
import { addUsage, NO_USAGE, tokensOf, type UsageVector, withoutVendorBill } from '../providers/contract/usage';
import { callsFor } from './image-order';

const logger = new Logger('ImageMaker');

/** Twice a typical 4K PNG, the largest that models make: 16 megapixels are 48 MiB uncompressed. */
const FETCH_LIMITS = { maxBytes: 48 * 1_048_576, timeoutMs: 60_000 };

/** Types that every client can display; other images are dropped. */
const ALLOWED_TYPES: ReadonlySet<string | null> = new Set(['image/png', 'image/jpeg', 'image/webp']);

/** A validated image, or its vendor URL where a URL suffices. */
export type MadeImage = (ImageFile | { readonly url: string }) & {
  readonly revisedPrompt: string | null;
  /** Such as `1024x1536`, read from the image; `null`: unknown. */
  readonly size: string | null;
};

export interface MadeImages extends MeteredResult {
  /** At least one, at most the requested number. */
  readonly images: readonly MadeImage[];
}

/** One attempt to generate images, with as many calls as the deployment needs. */
@Injectable()
export class ImageMaker {
  constructor(private readonly outbound: OutboundClient) {}

  /** @throws ProviderError when no image was made, and for options that the deployment does not have. */
  async make(request: ImageRequest, candidate: Candidate, call: ProviderCall): Promise<MadeImages> {
    const provider = imagesOf(candidate);
    assertChoices(request, candidate);
    const parts = await callTogether(
      call,
      distribute(request.count, callsFor(request.count, candidate)).map(
        (count) => () => this.makePart(provider, { ...request, count }, call),
      ),
    );
    const images = parts.flatMap((part) => part.images);
    return {
      images,
      usage: joinUsage(parts, images.length, candidate.price),
      outputBytes: images.reduce((sum, image) => sum + ('bytes' in image ? image.bytes.length : 0), 0),
    };
  }

  private async makePart(
    provider: ImagesProvider,
    request: ImageRequest,
    call: ProviderCall,
  ): Promise<Omit<MadeImages, 'outputBytes'>> {
    const { images: generated, usage } = await provider.generate(request, call);
    const wanted = generated.slice(0, request.count);
    const checked = await Promise.all(wanted.map((image) => this.check(image, request, call)));
    const images = checked.filter((image) => image !== null);
    if (images.length === 0) {
      const message = 'The provider returned no usable image.';
      throw new ProviderError('provider_error', message, { phase: 'headers', fallback: false });
    }
    // The reported usage includes dropped images, so the usage of the rest is unknown.
    return { images, usage: images.length < generated.length ? null : usage };
  }

  /** Returns `null` for an unusable image. */
  private async check(
    image: GeneratedImage,
    { delivery, prompt }: ImageRequest,
    call: ProviderCall,
  ): Promise<MadeImage | null> {
    const revisedPrompt = image.revisedPrompt === prompt ? null : image.revisedPrompt;
    if (delivery === 'url') {
      return 'url' in image ? { url: image.url, revisedPrompt, size: null } : null;
    }
    const bytes = 'bytes' in image ? image.bytes : await this.fetch(image.url, call);
    const contentType = bytes === null ? null : sniffImageType(bytes);
    return bytes === null || contentType === null || !ALLOWED_TYPES.has(contentType)
      ? null
      : { bytes, contentType, revisedPrompt, size: sizeOf(bytes) };
  }

  private async fetch(url: string, { signal, requestId }: ProviderCall): Promise<Buffer | null> {
    try {
      const { body } = await this.outbound.fetchArtifact(url, FETCH_LIMITS, signal);
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    } catch (error) {
      logger.warn({
        event: 'provider_image_not_fetched',
        message: 'an image could not be fetched from its provider URL',
        request_id: requestId,
        err: error,
      });
      return null;
    }
  }
}

/** Returns `null` for an image whose header is damaged. */
function sizeOf(bytes: Buffer): string | null {
  try {
    const { width, height } = imageSize(bytes);
    return width > 0 && height > 0 ? `${width}x${height}` : null;
  } catch {
    return null;
  }
}

function imagesOf({ provider }: Candidate): ImagesProvider {
  const { images } = provider;
  if (images === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve images.`);
  return images;
}

function assertChoices(request: ImageRequest, { quirks, deployment: { mapping } }: Candidate): void {
  if (quirks.imageOutput === true) return;
  for (const field of Object.keys(outputFields(request))) {
    if (field !== 'output_format' || mapping?.map.format === undefined) throw unsupported(field);
  }
}

/** Distributes the images evenly over the calls. */
function distribute(count: number, calls: number): number[] {
  return Array.from({ length: calls }, (_, index) => Math.floor((count + index) / calls));
}

/** Returns `null` when a call did not report the usage that determines the charge. */
function joinUsage(
  parts: readonly Pick<MadeImages, 'usage'>[],
  images: number,
  price: CompiledPrice,
): UsageVector | null {
  const isBilled = parts.every(({ usage }) => usage !== null && price.isBilledBy(usage));
  let sum = NO_USAGE;
  for (const { usage } of parts) {
    if (price.isByTokens && !isBilled && (usage === null || tokensOf(usage) === 0)) return null;
    if (usage !== null) sum = addUsage(sum, usage);
  }
  // A sum of the bills of only some calls would be too low.
  return { ...(isBilled ? sum : withoutVendorBill(sum)), images };
}
