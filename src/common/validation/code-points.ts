import { ValidateBy } from 'class-validator';

/**
 * A text of `min` to `max` characters as the contract counts them: Unicode code points. class-validator's own rules leave
 * out presentation selectors, and so let longer texts pass.
 */
export function CodePointLength(min: number, max: number): PropertyDecorator {
  return ValidateBy({
    name: 'codePointLength',
    validator: {
      validate: (text: unknown) => typeof text === 'string' && hasCodePoints(text, min, max),
      defaultMessage: () => `$property must be a text of ${min} to ${max} characters`,
    },
  });
}

/** A code point is one or two UTF-16 units, so that most texts need not be counted. */
function hasCodePoints(text: string, min: number, max: number): boolean {
  const { length } = text;
  if (length < min || length > 2 * max) return false;
  if (length >= 2 * min && length <= max) return true;
  const count = countCodePoints(text);
  return count >= min && count <= max;
}

/** Unicode code points; half a surrogate pair is one too. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}
