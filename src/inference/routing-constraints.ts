import type { RoutingDto } from '../routing/routing.dto';
import type { Candidate } from './inference.types';

/**
 * Whether a request's `routing` object leaves a candidate (decision *routing-object*). Names in it are ids of providers.
 * What the caller rules out is never tried, also when nothing else is left.
 */
export function isAllowed({ provider, priceVersion }: Candidate, routing: RoutingDto): boolean {
  const { only, ignore, max_price: maxPrice } = routing;
  if (only != null && !only.includes(provider.id)) return false;
  if (ignore != null && ignore.includes(provider.id)) return false;
  if (maxPrice == null) return true;
  const { tokens, request } = priceVersion.price;
  return (
    (tokens?.per_1m_micro.input ?? 0) <= (maxPrice.prompt ?? Infinity) &&
    (tokens?.per_1m_micro.output ?? 0) <= (maxPrice.completion ?? Infinity) &&
    (request?.per_request_micro ?? 0) <= (maxPrice.request ?? Infinity)
  );
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
