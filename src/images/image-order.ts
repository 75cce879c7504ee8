import type { ImageInput, ParsedImage } from '../core/media/image-inputs';
import type { ImageFieldsDto, ImageResponseFormat } from './dto/image-fields.dto';

/** A request for images, independent of its encoding. */
export interface ImageOrder {
  readonly prompt: string;
  readonly count: number;
  /** `null`: not specified. */
  readonly size: string | null;
  readonly quality: string | null;
  readonly style: string | null;
  readonly user: string | null;
  readonly responseFormat: ImageResponseFormat;
  /** An edit, as opposed to a generation with reference images. */
  readonly isEdit: boolean;
  readonly sources: readonly ParsedImage[];
  /** The request field of the source images. */
  readonly sourceField: string;
  readonly mask: ImageInput | null;
}

/** The input images of an order. */
export type OrderImages = Pick<ImageOrder, 'sources' | 'sourceField' | 'mask'>;

/** Official clients send `auto` for the model's default; not every vendor accepts it. */
function unlessAuto(value: string | null | undefined): string | null {
  return value == null || value === 'auto' ? null : value;
}

export function toImageOrder(body: ImageFieldsDto, images: OrderImages & Pick<ImageOrder, 'isEdit'>): ImageOrder {
  return {
    prompt: body.prompt,
    count: body.n ?? 1,
    size: unlessAuto(body.size),
    quality: unlessAuto(body.quality),
    style: body.style ?? null,
    user: body.user ?? null,
    responseFormat: body.response_format ?? 'url',
    ...images,
  };
}
