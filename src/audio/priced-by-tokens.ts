import type { CatalogModel, PriceVersion } from '../models/catalog-model';
import { tokensOf, type UsageVector } from '../providers/contract/usage';

/** Whether tokens may count for a request to any of these models: then it needs an estimate of them. */
export function mayCountTokens(models: readonly CatalogModel[]): boolean {
  return models.some(
    ({ prices, deployments }) => hasTokens(prices) || deployments.some((each) => hasTokens(each.prices)),
  );
}

function hasTokens(prices: readonly PriceVersion[]): boolean {
  return prices.some(({ price }) => price.tokens !== undefined);
}

/**
 * What is charged: what is known of the request, seconds or characters, and where tokens are paid for also what the
 * provider reports of them. `null`: it has not said how many, since none is no number of them.
 */
export function paidUsage(reported: UsageVector | null, known: UsageVector, tokensCount: boolean): UsageVector | null {
  if (!tokensCount) return known;
  if (reported === null || tokensOf(reported) === 0) return null;
  return { ...reported, seconds: known.seconds, characters: known.characters };
}
