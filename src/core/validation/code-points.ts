import { ValidateBy } from 'class-validator';

/**
 * A text of `min` to `max` characters as the contract counts them: Unicode code points. class-validator does not count
 * presentation selectors and accepts longer texts.
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

/** Unicode code points; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}
