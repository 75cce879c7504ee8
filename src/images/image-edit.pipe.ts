import type { PipeTransform } from '@nestjs/common';
import { MultipartForm } from '../core/types/multipart-form';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { ValidForm } from '../core/validation/valid-form.pipe';
import { ROUTING_FIELD_KINDS } from '../models/routing/routing.dto';
import { ImageEditRequestDto, ImageFieldsDto } from './dto/image-request.dto';

/** A valid edit request; `form` holds its files, or is `null` for JSON. */
export type ImageEdit =
  | { readonly body: ImageFieldsDto; readonly form: MultipartForm }
  | { readonly body: ImageEditRequestDto; readonly form: null };

/** Validates edits sent as a form or as JSON. */
export class ValidImageEdit implements PipeTransform<unknown, ImageEdit> {
  private readonly form = new ValidForm(ImageFieldsDto, {
    n: 'number',
    output_compression: 'number',
    stream: 'boolean',
    routing: ROUTING_FIELD_KINDS,
  });
  private readonly json = new ValidBody(ImageEditRequestDto);

  transform(body: unknown): ImageEdit {
    if (body instanceof MultipartForm) return this.form.transform(body);
    return { body: this.json.transform(body), form: null };
  }
}
