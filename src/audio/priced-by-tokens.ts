import type { CompiledPrice } from '../billing/pricing/price';
import type { CatalogModel, PriceVersion } from '../models/catalog-model';
import { tokensOf, type UsageVector, vendorBillOf } from '../providers/contract/usage';

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
 * The billable usage: the known seconds or characters, where tokens are charged the reported tokens, and the vendor's
 * bill. Fewer characters are charged if the provider reports fewer. `null` when the provider reported no tokens or
 * zero, and no bill that the price charges.
 */
export function paidUsage(reported: UsageVector | null, known: UsageVector, price: CompiledPrice): UsageVector | null {
  if (!price.isByTokens)
    return reported === null ? known : { ...fewerCharacters(reported, known), ...vendorBillOf(reported) };
  if (reported === null || (tokensOf(reported) === 0 && !price.isBilledBy(reported))) return null;
  return { ...reported, seconds: known.seconds, characters: known.characters };
}

/** More than the text has are not charged: the hold is for those of the text. */
function fewerCharacters(reported: UsageVector, known: UsageVector): UsageVector {
  if (reported.characters === 0 || reported.characters >= known.characters) return known;
  return { ...known, characters: reported.characters };
}
