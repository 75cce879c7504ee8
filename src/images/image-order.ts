import type { ImageInput, ParsedImage } from '../media/image-inputs';
import type { ImageFieldsDto, ImageResponseFormat } from './dto/image-fields.dto';

/** What a request asks for, however it was sent. */
export interface ImageOrder {
  readonly prompt: string;
  readonly count: number;
  /** `null`: the request leaves it open. */
  readonly size: string | null;
  readonly quality: string | null;
  readonly style: string | null;
  readonly user: string | null;
  readonly responseFormat: ImageResponseFormat;
  /** An edit, in distinction from a generation that may follow other images. */
  readonly isEdit: boolean;
  readonly sources: readonly ParsedImage[];
  /** The field that the source images came in. */
  readonly sourceField: string;
  readonly mask: ImageInput | null;
}

/** The images that an order shows to the model. */
export type OrderImages = Pick<ImageOrder, 'sources' | 'sourceField' | 'mask'>;

export function toImageOrder(body: ImageFieldsDto, images: OrderImages & Pick<ImageOrder, 'isEdit'>): ImageOrder {
  return {
    prompt: body.prompt,
    count: body.n ?? 1,
    size: body.size ?? null,
    quality: body.quality ?? null,
    style: body.style ?? null,
    user: body.user ?? null,
    responseFormat: body.response_format ?? 'url',
    ...images,
  };
}
