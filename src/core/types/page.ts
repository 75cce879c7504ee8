import { encodeCursor } from './cursor';

/** The requested part of a list. */
export interface PageRequest {
  readonly limit: number;
  /** `next_cursor` of the previous page; `null` for the first page. */
  readonly cursor: string | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** The sort key of lists by age, newest first. */
export interface Aged {
  readonly id: string;
  /** Made by {@link textOfTime}. */
  readonly createdAtText: string;
}

/** SQL of a `timestamptz` column as a cursor part: a `Date` would lose the microseconds, and pages would skip rows. */
export const textOfTime = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** @param rows up to `limit` + 1 rows: the extra row shows that there is a next page. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  sortKeyOf: (last: Row) => readonly (string | number)[],
): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(sortKeyOf(last)) : null };
}
