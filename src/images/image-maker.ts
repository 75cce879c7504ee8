import { Injectable, Logger } from '@nestjs/common';
import { sniffImageType } from '../common/image-format';
import { GatewayError } from '../common/errors/gateway-error';
import type { Candidate } from '../inference/inference.types';
import { callTogether } from '../inference/parallel-calls';
import type { MeteredResult } from '../inference/run-inference';
import { OutboundClient } from '../outbound/outbound-client';
import type { GeneratedImage, ImageFile, ImageRequest, ImagesProvider } from '../providers/contract/images';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { addUsage, NO_USAGE, tokensOf, type UsageVector } from '../providers/contract/usage';
import { callsFor } from './image-estimate';

const logger = new Logger('ImageMaker');

/** More than any model draws. */
const FETCH_LIMITS = { maxBytes: 20 * 1_048_576, timeoutMs: 60_000 };

const HTTPS = /^https:\/\//i;

/** Types that every client can show; an image of another one is no answer. */
const PASSED_ON: ReadonlySet<string | null> = new Set(['image/png', 'image/jpeg', 'image/webp']);

/** An image that has been looked at, or its address at the vendor where that will do. */
export type MadeImage = (ImageFile | { readonly url: string }) & { readonly revisedPrompt: string | null };

export interface MadeImages extends MeteredResult {
  /** At least one, at most as many as were asked for. */
  readonly images: readonly MadeImage[];
}

/** One attempt at images: as many calls as the deployment needs, and what they gave in a form that can be passed on. */
@Injectable()
export class ImageMaker {
  constructor(private readonly outbound: OutboundClient) {}

  /** @throws ProviderError when no image was made. */
  async make(request: ImageRequest, candidate: Candidate, call: ProviderCall): Promise<MadeImages> {
    const provider = imagesOf(candidate);
    const parts = await callTogether(
      call,
      shareOut(request.count, callsFor(request.count, candidate)).map(
        (count) => () => this.makePart(provider, { ...request, count }, call),
      ),
    );
    const images = parts.flatMap((part) => part.images);
    return {
      images,
      usage: joinUsage(parts, images.length, candidate.price.isByTokens),
      outputBytes: images.reduce((sum, image) => sum + ('bytes' in image ? image.bytes.length : 0), 0),
    };
  }

  private async makePart(
    provider: ImagesProvider,
    request: ImageRequest,
    call: ProviderCall,
  ): Promise<Omit<MadeImages, 'outputBytes'>> {
    const { images: given, usage } = await provider.generate(request, call);
    const wanted = given.slice(0, request.count);
    const looked = await Promise.all(wanted.map((image) => this.look(image, request, call)));
    const images = looked.filter((image) => image !== null);
    if (images.length === 0) {
      const message = 'The provider made images that are not there, or are none.';
      throw new ProviderError('provider_error', message, { phase: 'headers', fallback: false });
    }
    // What is charged for those that are left has not been reported.
    return { images, usage: images.length < given.length ? null : usage };
  }

  /** `null`: it is of no use to anybody. */
  private async look(
    image: GeneratedImage,
    { delivery, prompt }: ImageRequest,
    call: ProviderCall,
  ): Promise<MadeImage | null> {
    const revisedPrompt = image.revisedPrompt === prompt ? null : image.revisedPrompt;
    if (delivery === 'url') {
      return 'url' in image && HTTPS.test(image.url) ? { url: image.url, revisedPrompt } : null;
    }
    const bytes = 'bytes' in image ? image.bytes : await this.fetch(image.url, call);
    const contentType = bytes === null ? null : sniffImageType(bytes);
    return bytes === null || contentType === null || !PASSED_ON.has(contentType)
      ? null
      : { bytes, contentType, revisedPrompt };
  }

  private async fetch(url: string, { signal, requestId }: ProviderCall): Promise<Buffer | null> {
    try {
      const { body } = await this.outbound.fetchArtifact(url, FETCH_LIMITS, signal);
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    } catch (error) {
      logger.warn({ message: 'an image at an address of its provider could not be fetched', requestId, err: error });
      return null;
    }
  }
}

function imagesOf({ provider }: Candidate): ImagesProvider {
  const { images } = provider;
  if (images === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve images.`);
  return images;
}

/** As evenly as whole images go. */
function shareOut(count: number, calls: number): number[] {
  return Array.from({ length: calls }, (_, index) => Math.floor((count + index) / calls));
}

/** `null`: what decides the charge was not reported, by one of the calls at least. */
function joinUsage(
  parts: readonly Pick<MadeImages, 'usage'>[],
  images: number,
  isByTokens: boolean,
): UsageVector | null {
  let sum = NO_USAGE;
  for (const { usage } of parts) {
    if (isByTokens && (usage === null || tokensOf(usage) === 0)) return null;
    if (usage !== null) sum = addUsage(sum, usage);
  }
  return { ...sum, images };
}
