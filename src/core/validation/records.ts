import { IsObject, ValidateBy } from 'class-validator';
import { countCodePoints } from './code-points';

/** Size limits of a record, in entries and Unicode code points. Default: unlimited. */
export interface RecordLimits {
  readonly maxEntries?: number;
  readonly maxNameLength?: number;
  readonly maxValueLength?: number;
}

/** An object whose values are all strings. */
export function IsStringRecord(limits: RecordLimits = {}): PropertyDecorator {
  const { maxEntries = Infinity, maxNameLength = Infinity, maxValueLength = Infinity } = limits;
  const isText = (value: unknown): boolean => typeof value === 'string' && isWithin(value, maxValueLength);
  const areStrings = recordOf('isStringRecord', isText, textMessage(maxValueLength));
  const isSmall = ValidateBy({
    name: 'isSmallRecord',
    validator: {
      validate: (record: unknown) => {
        if (typeof record !== 'object' || record === null) return true;
        const names = Object.keys(record);
        return names.length <= maxEntries && names.every((name) => isWithin(name, maxNameLength));
      },
      defaultMessage: () =>
        `$property may have at most ${maxEntries} entries, with names of at most ${maxNameLength} characters`,
    },
  });
  return (target, property) => {
    areStrings(target, property);
    if (maxEntries < Infinity || maxNameLength < Infinity) isSmall(target, property);
  };
}

/** An object whose values are all numbers between `min` and `max`. */
export function IsNumberRecord(min: number, max: number): PropertyDecorator {
  return recordOf(
    'isNumberRecord',
    (value) => typeof value === 'number' && value >= min && value <= max,
    `values of $property must be numbers from ${min} to ${max}`,
  );
}

function textMessage(maxLength: number): string {
  const length = maxLength < Infinity ? ` of at most ${maxLength} characters` : '';
  return `values of $property must be strings${length}`;
}

/** A code point is one or two UTF-16 units, so that most texts need not be counted. */
function isWithin(text: string, maxCodePoints: number): boolean {
  return text.length <= maxCodePoints || (text.length <= 2 * maxCodePoints && countCodePoints(text) <= maxCodePoints);
}

function recordOf(name: string, accepts: (value: unknown) => boolean, message: string): PropertyDecorator {
  const check = ValidateBy({
    name,
    validator: {
      validate: (record: unknown) =>
        typeof record !== 'object' || record === null || Object.values(record).every(accepts),
      defaultMessage: () => message,
    },
  });
  return (target, property) => {
    check(target, property);
    IsObject()(target, property);
  };
}
