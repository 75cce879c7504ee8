import type { PipeTransform } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { GatewayError } from '../errors/gateway-error';
import { MultipartForm } from '../types/multipart-form';
import { type FieldKind, readField } from './form-field';
import { ValidBody } from './valid-body.pipe';

/** The parsed fields of a form, and the form itself with its files. */
export interface ValidatedForm<Dto> {
  readonly body: Dto;
  readonly form: MultipartForm;
}

/**
 * Passes a form whose text fields satisfy a DTO; refuses any other with `validation_failed`, whose `param` is the first
 * offending field. Undeclared fields are ignored; the route checks the files. Created once per route.
 */
export class ValidForm<Dto extends object> implements PipeTransform<unknown, ValidatedForm<Dto>> {
  private readonly valid: ValidBody<Dto>;
  private readonly declared: readonly string[];

  /** @param kinds types of the non-text fields. */
  constructor(
    dto: new () => Dto,
    private readonly kinds: Readonly<Partial<Record<keyof Dto & string, FieldKind>>>,
  ) {
    this.valid = new ValidBody(dto);
    const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
    this.declared = [...new Set(metadata.map(({ propertyName }) => propertyName))];
  }

  /** @param form the body of the request; `undefined` when it has none. */
  transform(form: unknown): ValidatedForm<Dto> {
    if (!(form instanceof MultipartForm)) {
      throw new GatewayError('validation_failed', 'The request has no body; a multipart form is expected.');
    }
    const body: Record<string, unknown> = {};
    for (const name of this.declared) {
      const value = readField(form.fields, name, this.kindOf(name));
      if (value !== undefined) body[name] = value;
    }
    return { body: this.valid.transform(body), form };
  }

  private kindOf(name: string): FieldKind {
    return this.kinds[name as keyof Dto & string] ?? 'text';
  }
}
