import type { ValidationArguments, ValidatorConstraintInterface } from 'class-validator';

/** A rule that knows where below its property the fault is, for example at one key of an object. */
export interface LocatingConstraint extends ValidatorConstraintInterface {
  /** Path relative to the property, for example `max_price`; asked only after `validate` has said no. */
  locate(value: unknown, args: ValidationArguments): string;
}
