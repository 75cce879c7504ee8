import type { Page, PageRequest } from '../core/types/page';
import { DEFAULT_PAGE_LIMIT, type PageQuery } from '../core/validation/query-fields';

/** The shape of every list response. */
export interface List<Item> {
  readonly object: 'list';
  readonly data: Item[];
  readonly next_cursor: string | null;
}

export function toPageRequest({ limit, cursor }: PageQuery): PageRequest {
  return { limit: limit ?? DEFAULT_PAGE_LIMIT, cursor: cursor ?? null };
}

export function toList<Item, Shown>({ items, nextCursor }: Page<Item>, show: (item: Item) => Shown): List<Shown> {
  return { object: 'list', data: items.map(show), next_cursor: nextCursor };
}
