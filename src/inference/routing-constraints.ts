import { GatewayError } from '../common/errors/gateway-error';
import type { RoutingDto } from '../routing/routing.dto';
import type { Candidate } from './inference.types';

/**
 * The candidates that a request's `routing` object leaves, in the order to try them (decision *routing-object*). Names in
 * it are ids of providers. What the caller rules out is never tried, also when nothing else is left.
 * @throws GatewayError `no_provider_available` when nothing is left.
 */
export function applyRouting(candidates: readonly Candidate[], routing: RoutingDto | null): readonly Candidate[] {
  if (routing === null) return candidates;
  const left = inOrder(
    candidates.filter((candidate) => isAllowed(candidate, routing)),
    routing.order ?? [],
  );
  if (left.length === 0) {
    throw new GatewayError('no_provider_available', 'No provider of the model is left by the routing of the request.', {
      param: 'routing',
    });
  }
  const attempts = routing.allow_fallbacks === false ? 1 : (routing.max_attempts ?? left.length);
  return left.slice(0, attempts);
}

function isAllowed({ provider, priceVersion }: Candidate, { only, ignore, max_price: maxPrice }: RoutingDto): boolean {
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
function inOrder(candidates: readonly Candidate[], order: readonly string[]): readonly Candidate[] {
  if (order.length === 0) return candidates;
  const rank = ({ provider }: Candidate): number => {
    const position = order.indexOf(provider.id);
    return position === -1 ? order.length : position;
  };
  return candidates.toSorted((left, right) => rank(left) - rank(right));
}
