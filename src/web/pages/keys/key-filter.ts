import { keySearchOf } from '../../api/key-search';
import { oneOf, textOf } from '../../app/search-values';

export const KEY_ORDERS = ['newest', 'name', 'used', 'spent'] as const;
export type KeyOrder = (typeof KEY_ORDERS)[number];

/** What the address of the list of keys says. */
export interface KeyFilter {
  readonly show?: 'revoked' | 'playground';
  readonly q?: string;
  readonly order?: KeyOrder;
}

export function parseKeyFilter(search: Record<string, unknown>): KeyFilter {
  const order = oneOf(search.order, KEY_ORDERS);
  return {
    show: oneOf(search.show, ['revoked', 'playground'] as const),
    q: keySearchOf(textOf(search.q) ?? ''),
    order: order === 'newest' ? undefined : order,
  };
}
