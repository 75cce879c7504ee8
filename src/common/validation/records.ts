import { IsObject, ValidateBy } from 'class-validator';

/** An object whose values are all strings. */
export function IsStringRecord(): PropertyDecorator {
  return recordOf('isStringRecord', (value) => typeof value === 'string', 'values of $property must be strings');
}

/** An object whose values are all numbers between `min` and `max`. */
export function IsNumberRecord(min: number, max: number): PropertyDecorator {
  return recordOf(
    'isNumberRecord',
    (value) => typeof value === 'number' && value >= min && value <= max,
    `values of $property must be numbers from ${min} to ${max}`,
  );
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
