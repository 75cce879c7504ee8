/*
 * The search values of page addresses. The router keeps a value that the parser of a page leaves out, so parsers name
 * every parameter, with `undefined` for one that is absent or wrong.
 */

/** The value of a search parameter when it is one of `options`. */
export function oneOf<Option extends string>(value: unknown, options: readonly Option[]): Option | undefined {
  return options.find((option) => option === value);
}

/** All values of a type of the API, for a filter that offers them: it does not compile while one is missing. */
export function allOf<Value extends string>(values: Readonly<Record<Value, true>>): readonly Value[] {
  return Object.keys(values) as Value[];
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

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
/** The days of the API, without the last one, because a list takes the day after the last of its range. */
const [FIRST_DAY, LAST_DAY] = ['2000-01-01', '2199-12-30'];

/** A day, `2026-11-23`. */
export function dayOf(value: unknown): string | undefined {
  return typeof value === 'string' && DAY.test(value) && isOfCalendar(value) ? value : undefined;
}

/** A day, or a time with its zone, `2026-11-23T14:25:00Z`. */
export function momentOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || !MOMENT.test(value) || Number.isNaN(Date.parse(value))) return undefined;
  return isOfCalendar(value.slice(0, 10)) ? value : undefined;
}

/** `Date` reads 30 February as 2 March. */
function isOfCalendar(day: string): boolean {
  if (day < FIRST_DAY || day > LAST_DAY) return false;
  return new Date(day).toJSON()?.startsWith(day) === true;
}

/** Whether the address of a list sets any of its filters. */
export function isFiltered(filters: object): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
