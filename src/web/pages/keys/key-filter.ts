import type { ApiKey } from '../../../contract/dashboard';
import { oneOf, textOf } from '../../app/search-values';
import { compareMicro } from '../../format/money';

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
    q: textOf(search.q),
    order: order === 'newest' ? undefined : order,
  };
}

/** The keys that match, in order; `keys` is newest first. */
export function arrangeKeys(keys: readonly ApiKey[], { q = '', order = 'newest' }: KeyFilter): readonly ApiKey[] {
  const text = q.trim().toLowerCase();
  const found = keys.filter(({ name, id, prefix, last4 }) =>
    [name.toLowerCase(), id, `${prefix}…${last4}`.toLowerCase(), last4.toLowerCase()].some((part) =>
      part.includes(text),
    ),
  );
  switch (order) {
    case 'name':
      return found.toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
    case 'used':
      return found.toSorted((one, other) => (other.last_used_on ?? '').localeCompare(one.last_used_on ?? ''));
    case 'spent':
      return found.toSorted((one, other) => compareMicro(other.use.month_spent_micro, one.use.month_spent_micro));
    default:
      return found;
  }
}
