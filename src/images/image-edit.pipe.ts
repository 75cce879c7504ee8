import type { PipeTransform } from '@nestjs/common';
import { MultipartForm } from '../common/multipart-form';
import { ValidBody } from '../common/validation/valid-body.pipe';
import { ValidForm } from '../common/validation/valid-form.pipe';
import { ROUTING_FIELD_KINDS } from '../routing/routing.dto';
import { ImageEditRequestDto } from './dto/image-edit-request.dto';
import { ImageFieldsDto } from './dto/image-fields.dto';

/** A valid request for an edit; `form` holds its files, unless it came as JSON. */
export type ImageEdit =
  | { readonly body: ImageFieldsDto; readonly form: MultipartForm }
  | { readonly body: ImageEditRequestDto; readonly form: null };

/** Edits are sent as a form or as JSON, whatever the client prefers. */
export class ValidImageEdit implements PipeTransform<unknown, ImageEdit> {
  private readonly form = new ValidForm(ImageFieldsDto, { n: 'number', routing: ROUTING_FIELD_KINDS });
  private readonly json = new ValidBody(ImageEditRequestDto);

  transform(body: unknown): ImageEdit {
    if (body instanceof MultipartForm) return this.form.transform(body);
    return { body: this.json.transform(body), form: null };
  }
}
