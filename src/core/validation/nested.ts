import { Type } from 'class-transformer';
import {
  getMetadataStorage,
  IsArray,
  IsIn,
  IsObject,
  Validate,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
  type ValidationArguments,
} from 'class-validator';
import type { LocatingConstraint } from './locating-constraint';

export type DtoClass = new () => object;

/** The class of a nested object: a fixed one, or selected by a tag property. */
export type NestedShape =
  | { readonly type: DtoClass }
  | { readonly tag: string; readonly variants: Readonly<Record<string, DtoClass>>; readonly otherwise: DtoClass };

/**
 * Nested shapes by class and property. class-transformer stores them too but has no public API for them; the decorators
 * below register them with both, so that a DTO validates alike under class-validator and `compileValidator`.
 */
const nestedShapes = new Map<object, Map<string, NestedShape>>();

export function nestedShapeOf(dto: DtoClass, property: string): NestedShape | undefined {
  for (let target = dto.prototype as object | null; target !== null; target = Object.getPrototypeOf(target)) {
    const shape = nestedShapes.get(target)?.get(property);
    if (shape !== undefined) return shape;
  }
  return undefined;
}

/**
 * Values that a property accepts besides its nested shape. They skip the other rules; its type message names both.
 */
export interface Alternative {
  /** Text. */
  readonly orString?: boolean;
  /** Keywords. */
  readonly orOneOf?: readonly string[];
}

/** A nested object. `closed` refuses keys that the class does not declare. */
export function NestedObject(
  type: DtoClass,
  { closed = false, ...alternative }: Alternative & { readonly closed?: boolean } = {},
): PropertyDecorator {
  const decorators = [...objectRules(alternative), nest({ type })];
  return combine(closed ? [...decorators, Validate(OnlyDeclaredKeys, [type])] : decorators);
}

/** A nested object whose class is chosen by its `tag` property. */
export function NestedVariant(
  tag: string,
  variants: Readonly<Record<string, DtoClass>>,
  alternative: Alternative = {},
): PropertyDecorator {
  return combine([...objectRules(alternative), nest({ tag, variants, otherwise: unknownVariant(tag, variants) })]);
}

/** An array of nested objects of one class. */
export function NestedArray(type: DtoClass, alternative: Alternative = {}): PropertyDecorator {
  return combine([...arrayRules(alternative), nest({ type })]);
}

/** An array of nested objects whose classes are chosen by their `tag` property. */
export function NestedVariants(
  tag: string,
  variants: Readonly<Record<string, DtoClass>>,
  alternative: Alternative = {},
): PropertyDecorator {
  return combine([...arrayRules(alternative), nest({ tag, variants, otherwise: unknownVariant(tag, variants) })]);
}

function objectRules(alternative: Alternative): PropertyDecorator[] {
  const message = typeMessage('an object', alternative);
  return [...conditionsOf(alternative), IsObject({ message }), ValidateNested()];
}

function arrayRules(alternative: Alternative): PropertyDecorator[] {
  const message = typeMessage('an array', alternative);
  return [...conditionsOf(alternative), IsArray({ message }), IsObject({ each: true }), ValidateNested({ each: true })];
}

function typeMessage(nested: string, { orString = false, orOneOf }: Alternative): string {
  const type = orString ? `a string or ${nested}` : nested;
  return `$property must be ${type}${orOneOf ? ` or one of the following values: ${orOneOf.join(', ')}` : ''}`;
}

function conditionsOf({ orString = false, orOneOf }: Alternative): PropertyDecorator[] {
  return [...(orString ? [UnlessString()] : []), ...(orOneOf ? [UnlessOneOf(orOneOf)] : [])];
}

/** Skips the property's other rules when it is a string; their messages must name both types. */
export function UnlessString(): PropertyDecorator {
  return ValidateIf((_object, value) => typeof value !== 'string');
}

/** Skips the property's other rules when it is null: for required fields that may be null. */
export function UnlessNull(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== null);
}

function UnlessOneOf(words: readonly string[]): PropertyDecorator {
  return ValidateIf((_object, value) => !words.includes(value));
}

const UNKNOWN_FIELD = '$property is not a known field';
/** A key can be as long as the body; only this much of it is quoted. */
export const SHOWN_KEY_LENGTH = 64;

@ValidatorConstraint({ name: 'onlyDeclaredKeys' })
class OnlyDeclaredKeys implements LocatingConstraint {
  validate(value: unknown, args: ValidationArguments): boolean {
    return this.undeclaredKey(value, args) === undefined;
  }

  locate(value: unknown, args: ValidationArguments): string {
    return (this.undeclaredKey(value, args) ?? '').slice(0, SHOWN_KEY_LENGTH);
  }

  defaultMessage(): string {
    return UNKNOWN_FIELD;
  }

  private undeclaredKey(value: unknown, { constraints: [type] }: ValidationArguments): string | undefined {
    return typeof value === 'object' && value !== null ? findUndeclaredKey(type, value) : undefined;
  }
}

/** The first undeclared key of an object. */
function findUndeclaredKey(type: DtoClass, value: object): string | undefined {
  const declared = declaredKeys(type);
  return Object.keys(value).find((key) => !declared.has(key));
}

const keysOfClasses = new Map<DtoClass, ReadonlySet<string>>();

function declaredKeys(type: DtoClass): ReadonlySet<string> {
  let keys = keysOfClasses.get(type);
  if (keys === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    keys = new Set(rules.map(({ propertyName }) => propertyName));
    keysOfClasses.set(type, keys);
  }
  return keys;
}

/** Used for objects with an unknown tag, so that the issue is at the tag and lists the allowed values. */
function unknownVariant(tag: string, variants: Readonly<Record<string, DtoClass>>): DtoClass {
  class UnknownVariant {
    [key: string]: unknown;
  }
  IsIn(Object.keys(variants))(UnknownVariant.prototype, tag);
  return UnknownVariant;
}

function nest(shape: NestedShape): PropertyDecorator {
  return (target, property) => {
    const shapes = nestedShapes.get(target) ?? new Map<string, NestedShape>();
    nestedShapes.set(target, shapes.set(String(property), shape));
    transformerType(shape)(target, property);
  };
}

function transformerType(shape: NestedShape): PropertyDecorator {
  if ('type' in shape) return Type(() => shape.type);
  const subTypes = Object.entries(shape.variants).map(([name, value]) => ({ name, value }));
  return Type(() => shape.otherwise, {
    discriminator: { property: shape.tag, subTypes },
    keepDiscriminatorProperty: true,
  });
}

function combine(decorators: readonly PropertyDecorator[]): PropertyDecorator {
  const bottomUp = decorators.toReversed();
  return (target, property) => bottomUp.forEach((decorate) => decorate(target, property));
}
