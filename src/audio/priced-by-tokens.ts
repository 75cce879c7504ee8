import type { CatalogModel, PriceVersion } from '../models/catalog-model';
import { tokensOf, type UsageVector } from '../providers/contract/usage';

/** Whether any of these models may charge tokens, so that the request needs a token estimate. */
export function mayCountTokens(models: readonly CatalogModel[]): boolean {
  return models.some(
    ({ prices, deployments }) => hasTokens(prices) || deployments.some((each) => hasTokens(each.prices)),
  );
}

function hasTokens(prices: readonly PriceVersion[]): boolean {
  return prices.some(({ price }) => price.tokens !== undefined);
}

/**
 * The billable usage: the known seconds or characters and, where tokens are charged, the reported tokens. Fewer characters
 * are charged if the provider reports fewer. `null` when the provider reported no tokens or zero.
 */
export function paidUsage(reported: UsageVector | null, known: UsageVector, tokensCount: boolean): UsageVector | null {
  if (!tokensCount) return fewerCharacters(reported, known);
  if (reported === null || tokensOf(reported) === 0) return null;
  return { ...reported, seconds: known.seconds, characters: known.characters };
}

/** More than the text has are not charged: the hold is for those of the text. */
function fewerCharacters(reported: UsageVector | null, known: UsageVector): UsageVector {
  if (reported === null || reported.characters === 0 || reported.characters >= known.characters) return known;
  return { ...known, characters: reported.characters };
}
