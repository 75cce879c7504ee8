/*
 * The search values of page addresses. The router keeps a value that the parser of a page leaves out, so parsers name
 * every parameter, with `undefined` for one that is absent or wrong.
 */

/** The value of a search parameter when it is one of `options`. */
export function oneOf<Option extends string>(value: unknown, options: readonly Option[]): Option | undefined {
  return options.find((option) => option === value);
}

/** Text of at most `maxLength` characters. The router reads `?q=42` as a number. */
export function textOf(value: unknown, maxLength = 256): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text !== '' && text.length <= maxLength ? text : undefined;
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

/** Whether the address of a list sets any of its filters. */
export function isFiltered(filters: object): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
