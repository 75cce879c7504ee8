import type { PipeTransform } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { GatewayError } from '../errors/gateway-error';
import { parseStrictJson } from '../json/strict-json';
import { MultipartForm } from '../multipart-form';
import { ValidBody } from './valid-body.pipe';
import { joinPath } from './validation-issues';

/** What the text of a field stands for. A `list` has one item per part of that name; anything else is sent once. */
export type FieldKind = 'text' | 'number' | 'boolean' | 'json' | 'list';

/** The fields of a form as JSON would have given them, and the form itself with its files. */
export interface ValidatedForm<Dto> {
  readonly body: Dto;
  readonly form: MultipartForm;
}

/**
 * Lets a form through whose text fields satisfy a DTO; refuses any other with `validation_failed`, whose `param` is the
 * first offending field. Fields that the DTO does not declare are left out (decision *unknown-fields*); files are the
 * route's to ask for. Made once per route.
 */
export class ValidForm<Dto extends object> implements PipeTransform<unknown, ValidatedForm<Dto>> {
  private readonly valid: ValidBody<Dto>;
  private readonly declared: readonly string[];

  /** @param kinds of the fields that are not text. */
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
      const values = form.fields.get(name);
      if (values !== undefined) body[name] = readField(name, values, this.kindOf(name));
    }
    return { body: this.valid.transform(body), form };
  }

  private kindOf(name: string): FieldKind {
    return this.kinds[name as keyof Dto & string] ?? 'text';
  }
}

function readField(name: string, values: readonly string[], kind: FieldKind): unknown {
  if (kind === 'list') return values;
  const [text = ''] = values;
  if (values.length > 1) throw new GatewayError('validation_failed', `${name} must be sent once.`, { param: name });
  switch (kind) {
    case 'number':
      return readNumber(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'json':
      return readJson(name, text);
    case 'text':
      return text;
  }
}

/** What is no number stays a text, which the rules of the DTO refuse in their own words. */
function readNumber(text: string): number | string {
  return /^-?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : text;
}

function readJson(name: string, text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = `${name} must be JSON without repeated names and with values that can be carried on unchanged.`;
    throw new GatewayError('validation_failed', message, { param: joinPath(name, error.param ?? '') });
  }
}
