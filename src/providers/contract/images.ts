import type { ImageContentType } from '../../common/image-format';
import type { ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/** The bytes of an image that the edge has looked at: its type is what its bytes say, not what somebody claimed. */
export interface ImageFile {
  readonly bytes: Buffer;
  readonly contentType: ImageContentType;
}

/** Images to be made, as the edge has validated them. Nothing else of the client's body reaches a provider. */
export interface ImageRequest {
  readonly prompt: string;
  /** 1 to 10. */
  readonly count: number;
  /** `WIDTHxHEIGHT`; `null`: the model's own choice. */
  readonly size: string | null;
  readonly quality: string | null;
  readonly style: string | null;
  readonly user: string | null;
  /** What to edit, or to follow; empty: the image is made from the prompt alone. */
  readonly images: readonly ImageFile[];
  readonly mask: ImageFile | null;
  /** `url`: an address at the provider will do; otherwise the images themselves are wanted. */
  readonly delivery: 'bytes' | 'url';
}

/** One image, as bytes or as an address at the provider, whichever it gave. */
export type GeneratedImage = ({ readonly bytes: Buffer } | { readonly url: string }) & {
  /** `null` unless the provider rewrote the prompt. */
  readonly revisedPrompt: string | null;
};

export interface ImageResult {
  /** At least one, at most `count`. */
  readonly images: readonly GeneratedImage[];
  /** `null` when the upstream did not report any: then the images are counted. */
  readonly usage: UsageVector | null;
}

/** Images as a capability of a provider. Throws `ProviderError` only. */
export interface ImagesProvider {
  /** One call to the upstream: the caller asks for no more images than the deployment makes in one. */
  generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult>;
}
