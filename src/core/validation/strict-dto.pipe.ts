import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { GatewayError } from '../errors/gateway-error';
import { type DtoClass, nestedShapeOf, SHOWN_KEY_LENGTH } from './nested';
import type { ValidationIssue } from './validation-issues';

/** Context of a rule with `each`: makes its issue name the first item that is not accepted. */
export interface EachContext {
  readonly acceptsItem: (item: unknown) => boolean;
}

/**
 * Nest's `ValidationPipe` for bodies and queries of the control plane, with the errors of the contract. Undeclared
 * fields are refused, because a misspelled setting must not be ignored.
 */
class StrictDtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      stopAtFirstError: true,
      validationError: { target: false, value: true },
      exceptionFactory: toGatewayError,
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    // The stock pipe treats a missing body as an empty object.
    if (metadata.type === 'body') assertJsonObject(value);
    assertNoInheritedNames(value, metadata.metatype as DtoClass);
    return super.transform(value, metadata);
  }
}

export const strictDto = new StrictDtoPipe();

function assertJsonObject(body: unknown): void {
  if (body === undefined) {
    throw new GatewayError('invalid_json', 'The request has no body; a JSON object is expected.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const message = 'the body must be a JSON object';
    throw new GatewayError('validation_failed', message, { details: { issues: [{ param: '', message }] } });
  }
}

/**
 * Refuses fields like `constructor`. The libraries do not: class-transformer skips two of these names, and
 * class-validator treats all of them as declared, because it looks names up in a plain object.
 */
function assertNoInheritedNames(value: unknown, dto: DtoClass, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (name in Object.prototype) throw toRefusal([unknownField(`${path}${name}`, name)]);
    const shape = nestedShapeOf(dto, name);
    if (shape === undefined || !('type' in shape)) continue;
    if (!Array.isArray(field)) assertNoInheritedNames(field, shape.type, `${path}${name}.`);
    else field.forEach((item, index) => assertNoInheritedNames(item, shape.type, `${path}${name}[${index}].`));
  }
}

function toGatewayError(errors: readonly ValidationError[]): GatewayError {
  return toRefusal(errors.map((error) => toIssue(error)));
}

function toRefusal(issues: readonly ValidationIssue[]): GatewayError {
  const [first] = issues;
  return new GatewayError('validation_failed', first?.message ?? 'The request is invalid.', {
    param: first?.param === '' ? undefined : first?.param,
    details: { issues },
  });
}

/** @param path path of the object that has the property; array items are named by their indexes. */
function toIssue(error: ValidationError, path = ''): ValidationIssue {
  const { property, value, constraints = {}, contexts = {}, children = [] } = error;
  // A name can be as long as the request; only part of it is quoted.
  const name = property.slice(0, SHOWN_KEY_LENGTH);
  const param = /^\d+$/.test(name) && path !== '' ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
  const [nested] = children;
  if (nested !== undefined) return toIssue(nested, param);
  const [[rule, message] = ['', `${name} is invalid`]] = Object.entries(constraints);
  if (rule === 'whitelistValidation') return unknownField(param, name);
  const context = contexts[rule] as EachContext | undefined;
  if (context === undefined || !Array.isArray(value)) return { param, message };
  return { param: `${param}[${value.findIndex((item) => !context.acceptsItem(item))}]`, message };
}

function unknownField(param: string, name: string): ValidationIssue {
  return { param, message: `${name} is not a known field` };
}
