import type { PipeTransform } from '@nestjs/common';
import {
  getMetadataStorage,
  type MetadataStorage,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { GatewayError } from '../errors/gateway-error';
import type { LocatingConstraint } from './locating-constraint';
import { type DtoClass, nestedShapeOf } from './nested';
import { joinPath, type ValidationIssue } from './validation-issues';

/**
 * Passes a valid body unchanged; refuses any other with `validation_failed`, whose `param` is the JSON path of the
 * first offending field. Created once per route, so that the DTO's rules are compiled once.
 */
export class ValidBody<Dto extends object> implements PipeTransform<unknown, Dto> {
  private readonly validate: (body: unknown) => readonly ValidationIssue[];

  constructor(dto: new () => Dto) {
    this.validate = compileValidator(dto);
  }

  transform(body: unknown): Dto {
    if (body === undefined) {
      throw new GatewayError('invalid_json', 'The request has no body; a JSON object is expected.');
    }
    const issues = this.validate(body);
    const [first] = issues;
    if (first === undefined) return body as Dto;
    throw new GatewayError('validation_failed', first.message, {
      param: first.param === '' ? undefined : first.param,
      details: { issues },
    });
  }
}

/*
 * Executes class-validator's decorators without its executor, which regroups the metadata for every object, creates an
 * error object per property and needs instances from class-transformer. Here the metadata are compiled once into a plan
 * that runs over the plain body. Both give the same verdict (valid-body.pipe.spec.ts). Not supported, and refused
 * when compiling: asynchronous rules, `ValidateNested` without a decorator of `nested.ts`.
 */

type Metadata = ReturnType<MetadataStorage['getTargetValidationMetadatas']>[number];
type PlainObject = Readonly<Record<string, unknown>>;
type MutableArguments = { -readonly [Key in keyof ValidationArguments]: ValidationArguments[Key] };

interface Rule {
  readonly constraint: ValidatorConstraintInterface;
  readonly metadata: Metadata;
  readonly each: boolean;
  /** One reused object per rule: rules are synchronous and stateless. */
  readonly args: MutableArguments;
}

interface PropertyPlan {
  readonly name: string;
  /** `@IsOptional()`: absent and null pass. */
  readonly optional: boolean;
  readonly conditions: readonly ((object: PlainObject, value: unknown) => boolean)[];
  readonly rules: readonly Rule[];
  readonly shapeOf: ((value: PlainObject) => ShapePlan) | null;
}

interface ShapePlan {
  /** In declaration order, which is also the order of the issues. */
  readonly properties: readonly PropertyPlan[];
  readonly byName: ReadonlyMap<string, PropertyPlan>;
  /** The properties whose rules apply even when they are absent. */
  readonly required: readonly PropertyPlan[];
}

/** Validation stops after this many issues. */
const ISSUE_LIMIT = 20;
const NO_ISSUES: readonly ValidationIssue[] = [];

/**
 * Compiles the rules of a DTO class into a function that returns the issues of a parsed JSON body; an empty list means
 * valid. The body is neither changed nor copied, and undeclared keys are ignored.
 * @throws Error when the class uses an unsupported rule.
 */
export function compileValidator(dto: DtoClass): (body: unknown) => readonly ValidationIssue[] {
  const plan = compileShape(dto, new Map());
  return (body) => {
    if (!isPlainObject(body)) return [{ param: '', message: 'the body must be a JSON object' }];
    if (isValidShape(plan, body)) return NO_ISSUES;
    const issues: ValidationIssue[] = [];
    checkShape(plan, body, issues);
    return issues.map(withFieldName);
  };
}

function compileShape(dto: DtoClass, known: Map<DtoClass, ShapePlan>): ShapePlan {
  const existing = known.get(dto);
  if (existing !== undefined) return existing;
  const properties: PropertyPlan[] = [];
  const byName = new Map<string, PropertyPlan>();
  const required: PropertyPlan[] = [];
  const plan: ShapePlan = { properties, byName, required };
  known.set(dto, plan);
  const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  for (const name of new Set(metadata.map(({ propertyName }) => propertyName))) {
    const own = metadata.filter(({ propertyName }) => propertyName === name);
    const property = compileProperty(dto, name, own, known);
    properties.push(property);
    byName.set(name, property);
    if (!property.optional) required.push(property);
  }
  return plan;
}

function compileProperty(
  dto: DtoClass,
  name: string,
  metadata: readonly Metadata[],
  known: Map<DtoClass, ShapePlan>,
): PropertyPlan {
  const conditional = metadata.filter(({ type }) => type === 'conditionalValidation');
  const nested = metadata.some(({ type }) => type === 'nestedValidation');
  return {
    name,
    optional: conditional.some((condition) => condition.name === 'isOptional'),
    conditions: conditional
      .filter((condition) => condition.name !== 'isOptional')
      .map(({ constraints }) => constraints[0]),
    // Decorators register bottom-up; rules run top-down.
    rules: metadata.toReversed().flatMap((rule) => compileRule(dto, rule)),
    shapeOf: nested ? compileNested(dto, name, known) : null,
  };
}

function compileRule(dto: DtoClass, metadata: Metadata): Rule[] {
  if (metadata.constraintCls === undefined) return [];
  return getMetadataStorage()
    .getTargetValidatorConstraints(metadata.constraintCls)
    .map(({ instance, async }) => {
      if (async) throw new Error(`${dto.name}.${metadata.propertyName}: asynchronous rules are not supported`);
      const { propertyName: property, constraints } = metadata;
      const args = { targetName: dto.name, property, constraints, object: {}, value: undefined };
      return { constraint: instance, metadata, each: metadata.each, args };
    });
}

function compileNested(
  dto: DtoClass,
  name: string,
  known: Map<DtoClass, ShapePlan>,
): (value: PlainObject) => ShapePlan {
  const shape = nestedShapeOf(dto, name);
  if (shape === undefined) throw new Error(`${dto.name}.${name}: nested without a decorator of nested.ts`);
  if ('type' in shape) {
    const plan = compileShape(shape.type, known);
    return () => plan;
  }
  const { tag } = shape;
  const otherwise = compileShape(shape.otherwise, known);
  const plans = new Map<unknown, ShapePlan>(
    Object.entries(shape.variants).map(([value, type]) => [value, compileShape(type, known)]),
  );
  return (value) => plans.get(value[tag]) ?? otherwise;
}

/**
 * Visits only the members of an object, not the many declared properties that it lacks: enough for a valid body.
 */
function isValidShape({ byName, required }: ShapePlan, object: PlainObject): boolean {
  for (const name of Object.keys(object)) {
    const property = byName.get(name);
    if (property !== undefined && !isValidProperty(property, object, object[name])) return false;
  }
  for (const property of required) {
    if (!Object.hasOwn(object, property.name) && !isValidProperty(property, object, undefined)) return false;
  }
  return true;
}

function isValidProperty(property: PropertyPlan, object: PlainObject, value: unknown): boolean {
  const { optional, conditions, rules, shapeOf } = property;
  if (optional && (value === undefined || value === null)) return true;
  for (const applies of conditions) {
    if (!applies(object, value)) return true;
  }
  for (const rule of rules) {
    if (findFault(rule, object, value) !== null) return false;
  }
  if (shapeOf === null) return true;
  if (!Array.isArray(value)) return !isPlainObject(value) || isValidShape(shapeOf(value), value);
  return value.every((item) => !isPlainObject(item) || isValidShape(shapeOf(item), item));
}

function checkShape({ properties }: ShapePlan, object: PlainObject, issues: ValidationIssue[]): void {
  for (const property of properties) {
    const value = object[property.name];
    if (property.optional && (value === undefined || value === null)) continue;
    checkProperty(property, object, value, issues);
    if (issues.length >= ISSUE_LIMIT) return;
  }
}

function checkProperty(property: PropertyPlan, object: PlainObject, value: unknown, issues: ValidationIssue[]): void {
  for (const applies of property.conditions) {
    if (!applies(object, value)) return;
  }
  for (const rule of property.rules) {
    const fault = findFault(rule, object, value);
    if (fault === null) continue;
    issues.push({ param: joinPath(property.name, fault), message: messageOf(rule) });
    return;
  }
  if (property.shapeOf !== null) checkNested(property.name, property.shapeOf, value, issues);
}

/** `null` when the rule is satisfied, otherwise the path of the issue relative to the property. */
function findFault({ constraint, each, args, metadata }: Rule, object: PlainObject, value: unknown): string | null {
  args.object = object;
  args.value = value;
  if (metadata.validateIf !== undefined && !metadata.validateIf(object, value)) return null;
  if (each && Array.isArray(value)) {
    const index = value.findIndex((item) => constraint.validate(item, args) !== true);
    return index === -1 ? null : `[${index}]`;
  }
  if (constraint.validate(value, args) === true) return null;
  return isLocating(constraint) ? constraint.locate(value, args) : '';
}

function checkNested(
  name: string,
  shapeOf: (value: PlainObject) => ShapePlan,
  value: unknown,
  issues: ValidationIssue[],
): void {
  if (!Array.isArray(value)) {
    if (isPlainObject(value)) checkBelow(name, shapeOf(value), value, issues);
    return;
  }
  for (let index = 0; index < value.length && issues.length < ISSUE_LIMIT; index++) {
    const item: unknown = value[index];
    if (!isPlainObject(item)) continue;
    const before = issues.length;
    checkShape(shapeOf(item), item, issues);
    if (issues.length > before) relocate(issues, before, `${name}[${index}]`);
  }
}

function checkBelow(name: string, plan: ShapePlan, value: PlainObject, issues: ValidationIssue[]): void {
  const before = issues.length;
  checkShape(plan, value, issues);
  if (issues.length > before) relocate(issues, before, name);
}

/** Paths are built only for issues, so that a valid body allocates no strings. */
function relocate(issues: ValidationIssue[], from: number, parent: string): void {
  for (let index = from; index < issues.length; index++) {
    const issue = issues[index];
    if (issue !== undefined) issues[index] = { ...issue, param: joinPath(parent, issue.param) };
  }
}

function messageOf({ constraint, metadata: { message }, args }: Rule): string {
  const template = message || (constraint.defaultMessage?.(args) ?? '$property is not valid');
  const text = typeof template === 'function' ? template(args) : template;
  return text
    .replace(/^each value in /, '')
    .replace(/ conforming to the specified constraints$/, '')
    .replace(/\$constraint(\d+)/g, (_match, position) => readable(args.constraints[Number(position) - 1]));
}

function readable(constraint: unknown): string {
  return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
}

/** Messages contain the full path, which is known only at the end. */
function withFieldName({ param, message }: ValidationIssue): ValidationIssue {
  return { param, message: message.replaceAll('$property', () => param) };
}

function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLocating(constraint: ValidatorConstraintInterface): constraint is LocatingConstraint {
  return 'locate' in constraint;
}
