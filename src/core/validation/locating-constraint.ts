import type { ValidationArguments, ValidatorConstraintInterface } from 'class-validator';

/** A rule that can locate the issue below its property, for example at one key of an object. */
export interface LocatingConstraint extends ValidatorConstraintInterface {
  /** Path relative to the property, for example `max_price`; called only after `validate` has returned false. */
  locate(value: unknown, args: ValidationArguments): string;
}
