import type { RoutingDto } from '../models/routing/routing.dto';
import type { Candidate } from './inference.types';

/** A field of the `routing` object that can exclude a candidate. */
export type RulingConstraint = 'only' | 'ignore' | 'max_price';

/**
 * The field of the `routing` object that excludes a candidate (decision *routing-object*); `null`: none. Names are provider
 * ids. An excluded candidate is never tried, even if no other is left.
 */
export function ruledOutBy({ provider, priceVersion }: Candidate, routing: RoutingDto): RulingConstraint | null {
  const { only, ignore, max_price: maxPrice } = routing;
  if (only != null && !only.includes(provider.id)) return 'only';
  if (ignore != null && ignore.includes(provider.id)) return 'ignore';
  if (maxPrice == null) return null;
  const { tokens, request } = priceVersion.price;
  const isCheap =
    (tokens?.per_1m_micro.input ?? 0) <= (maxPrice.prompt ?? Infinity) &&
    (tokens?.per_1m_micro.output ?? 0) <= (maxPrice.completion ?? Infinity) &&
    (request?.per_request_micro ?? 0) <= (maxPrice.request ?? Infinity);
  return isCheap ? null : 'max_price';
}

export function isAllowed(candidate: Candidate, routing: RoutingDto): boolean {
  return ruledOutBy(candidate, routing) === null;
}

/** Puts the providers named by the caller first, in that order; the others keep their order. */
export function inOrder(candidates: readonly Candidate[], order: readonly string[]): readonly Candidate[] {
  if (order.length === 0) return candidates;
  const rank = ({ provider }: Candidate): number => {
    const position = order.indexOf(provider.id);
    return position === -1 ? order.length : position;
  };
  return candidates.toSorted((left, right) => rank(left) - rank(right));
}
