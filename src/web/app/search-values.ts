/** The value of a search parameter when it is one of `options`. */
export function oneOf<Option extends string>(value: unknown, options: readonly Option[]): Option | undefined {
  return options.find((option) => option === value);
}

/** Text of at most `maxLength` characters. */
export function textOf(value: unknown, maxLength = 256): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : undefined;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

export function uuidOf(value: unknown): string | undefined {
  return typeof value === 'string' && UUID.test(value) ? value : undefined;
}

/** A day, `2026-11-23`. */
export function dayOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;
}
