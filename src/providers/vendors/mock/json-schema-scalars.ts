import { numberOr, UnsatisfiableSchema, type Schema } from './json-schema-keywords';

const MAX_TEXT_LENGTH = 100_000;
const MAX_MULTIPLES_TRIED = 100;

/** A sample of each format; `variant` makes it differ from its neighbours in an array. */
const FORMATS: ReadonlyMap<unknown, (variant: number) => string> = new Map([
  ['date-time', (variant: number) => `2030-01-${day(variant)}T09:30:00Z`],
  ['date', (variant: number) => `2030-01-${day(variant)}`],
  ['time', (variant: number) => `09:${minute(variant)}:00Z`],
  ['duration', (variant: number) => `PT${variant + 1}H`],
  ['email', (variant: number) => `person${variant + 1}@example.com`],
  ['hostname', (variant: number) => `host${variant + 1}.example.com`],
  ['ipv4', (variant: number) => `192.0.2.${(variant % 250) + 1}`],
  ['ipv6', (variant: number) => `2001:db8::${((variant % 65535) + 1).toString(16)}`],
  ['uri', (variant: number) => `https://example.com/${variant + 1}`],
  ['url', (variant: number) => `https://example.com/${variant + 1}`],
  ['uuid', (variant: number) => `00000000-0000-4000-8000-${String(variant + 1).padStart(12, '0')}`],
]);

/** A text of the schema's format, or `text` itself, truncated or padded to the length bounds (in code points). */
export function stringWithin(schema: Schema, text: string, variant: number): string {
  const least = numberOr(schema.minLength, 0);
  const most = numberOr(schema.maxLength, Infinity);
  if (least > most || least > MAX_TEXT_LENGTH) {
    throw new UnsatisfiableSchema('no text has this length');
  }
  const sample = FORMATS.get(schema.format)?.(variant);
  if (sample !== undefined && sample.length >= least && sample.length <= most) {
    return sample;
  }
  const characters = Array.from(text || 'text');
  for (let at = 0; characters.length < least; at++) {
    characters.push(characters[at] ?? ' ');
  }
  if (characters.length <= most) {
    return characters.join('');
  }
  const mark = variant === 0 ? '' : String(variant + 1).slice(0, most);
  return characters.slice(0, most - mark.length).join('') + mark;
}

/** A number of the type within the bounds: `hint` where it fits, otherwise one near the lower bound. */
export function numberWithin(
  schema: Schema,
  type: 'integer' | 'number',
  hint: number | undefined,
  variant: number,
): number {
  const fits = (value: number): boolean => isWithin(schema, type, value);
  if (hint !== undefined && fits(hint)) {
    return hint;
  }
  const low = Math.max(numberOr(schema.minimum, -Infinity), numberOr(schema.exclusiveMinimum, -Infinity));
  const high = Math.min(numberOr(schema.maximum, Infinity), numberOr(schema.exclusiveMaximum, Infinity));
  const step = numberOr(schema.multipleOf, 1);
  const isOpen = low === numberOr(schema.exclusiveMinimum, NaN) && Number.isInteger(low / step);
  const first = Number.isFinite(low) ? Math.ceil(low / step) + Number(isOpen) : Math.min(1, Math.floor(high / step));
  const direction = Number.isFinite(low) || first === 1 ? 1 : -1;
  for (const skipped of new Set([variant, 0])) {
    for (let tried = 0; tried < MAX_MULTIPLES_TRIED; tried++) {
      const value = (first + (skipped + tried) * direction) * step;
      if (fits(value)) {
        return value;
      }
    }
  }
  const between = low + ((high - low) * (variant + 1)) / (variant + 2);
  if (fits(between)) {
    return between;
  }
  throw new UnsatisfiableSchema('no number is allowed');
}

function isWithin(schema: Schema, type: 'integer' | 'number', value: number): boolean {
  return (
    Number.isFinite(value) &&
    (type === 'number' || Number.isInteger(value)) &&
    value >= numberOr(schema.minimum, -Infinity) &&
    value <= numberOr(schema.maximum, Infinity) &&
    value > numberOr(schema.exclusiveMinimum, -Infinity) &&
    value < numberOr(schema.exclusiveMaximum, Infinity) &&
    (typeof schema.multipleOf !== 'number' || Number.isInteger(value / schema.multipleOf))
  );
}

function day(variant: number): string {
  return String((variant % 28) + 1).padStart(2, '0');
}

function minute(variant: number): string {
  return String(variant % 60).padStart(2, '0');
}
