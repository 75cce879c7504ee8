import type { RoutingDto } from '../routing/routing.dto';
import type { Candidate } from './inference.types';

/** A member of a request's `routing` object that can rule a candidate out. */
export type RulingConstraint = 'only' | 'ignore' | 'max_price';

/**
 * Which member of a request's `routing` object rules a candidate out (decision *routing-object*); `null`: none. Names in it
 * are ids of providers. What the caller rules out is never tried, also when nothing else is left.
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

/** Providers that the caller names come first, in its order; the others follow in theirs. */
export function inOrder(candidates: readonly Candidate[], order: readonly string[]): readonly Candidate[] {
  if (order.length === 0) return candidates;
  const rank = ({ provider }: Candidate): number => {
    const position = order.indexOf(provider.id);
    return position === -1 ? order.length : position;
  };
  return candidates.toSorted((left, right) => rank(left) - rank(right));
}
