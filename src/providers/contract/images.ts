import type { ImageContentType } from '../../core/types/image-format';
import type { ProviderCall, Quirks } from './provider-call';
import type { UsageVector } from './usage';

/** An image that the endpoint has inspected: its type comes from its bytes, not from what the client declared. */
export interface ImageFile {
  readonly bytes: Buffer;
  readonly contentType: ImageContentType;
}

/** What a client may choose. */
export interface ImageOptions {
  readonly prompt: string;
  /** 1 to 10. */
  readonly count: number;
  /** `WIDTHxHEIGHT`; `null`: the model's default. */
  readonly size: string | null;
  readonly quality: string | null;
  readonly style: string | null;
  /**
   * `png`, `jpeg` or `webp`; `null`: the model's choice. This option and those up to `inputFidelity` are set only for
   * deployments that let the client choose.
   */
  readonly format: string | null;
  /** `transparent` or `opaque`. */
  readonly background: string | null;
  /** `low`, `medium` or `high`. */
  readonly complexity: string | null;
  /** Quality of JPEG and WebP images in percent. */
  readonly compression: number | null;
  /** `low`. */
  readonly moderation: string | null;
  /** `low` or `high`, with input images only. */
  readonly inputFidelity: string | null;
  readonly user: string | null;
}

/** OpenAI's fields for output options; the quirk `imageOutput` marks deployments that accept them. */
const OUTPUT_FIELDS = {
  output_format: 'format',
  background: 'background',
  complexity: 'complexity',
  output_compression: 'compression',
  moderation: 'moderation',
  input_fidelity: 'inputFidelity',
} as const satisfies Readonly<Record<string, keyof ImageOptions>>;

/** The output options that the client chose, under OpenAI's names. */
export function outputFields(options: ImageOptions): Record<string, string | number> {
  const fields: Record<string, string | number> = {};
  for (const [field, option] of Object.entries(OUTPUT_FIELDS)) {
    const { [option]: value } = options;
    if (value !== null) fields[field] = value;
  }
  return fields;
}

/** An image request that the endpoint has validated. Nothing else of the client's body reaches a provider. */
export interface ImageRequest extends ImageOptions {
  /** Images to edit or to use as references; empty: the prompt alone. */
  readonly images: readonly ImageFile[];
  readonly mask: ImageFile | null;
  /** `url`: a URL at the provider is acceptable; otherwise the bytes are required. */
  readonly delivery: 'bytes' | 'url';
}

/** One image, as bytes or as a URL at the provider, whichever it returned. */
export type GeneratedImage = ({ readonly bytes: Buffer } | { readonly url: string }) & {
  /** `null` unless the provider rewrote the prompt. */
  readonly revisedPrompt: string | null;
};

export interface ImageResult {
  /** At least one, at most `count`. */
  readonly images: readonly GeneratedImage[];
  /** `null` when the upstream reports none: then the images are counted. */
  readonly usage: UsageVector | null;
}

/** Whether a deployment with these quirks can return image URLs. */
export function givesImageUrls({ imageUrls, imageResponseFormat }: Quirks): boolean {
  return imageUrls ?? imageResponseFormat !== 'none';
}

/** Images as a capability of a provider. Throws `ProviderError` only. */
export interface ImagesProvider {
  /** One upstream call: the caller requests no more images than the deployment makes per call. */
  generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult>;
}
