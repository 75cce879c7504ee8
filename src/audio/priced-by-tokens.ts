import type { CompiledPrice } from '../billing/pricing/price';
import type { CatalogModel, Price } from '../models/catalog-model';
import { tokensOf, type UsageVector, vendorBillOf } from '../providers/contract/usage';

/** Whether any of these models may charge tokens, so that the request needs a token estimate. */
export function mayCountTokens(models: readonly CatalogModel[]): boolean {
  return haveSomePrice(models, ({ tokens }) => tokens !== undefined);
}

/** Whether any price of these models, or of their deployments, matches. */
export function haveSomePrice(models: readonly CatalogModel[], matches: (price: Price) => boolean): boolean {
  return models
    .flatMap((model) => [model, ...model.deployments])
    .some(({ prices }) => prices.some(({ price }) => matches(price)));
}

/**
 * The billable usage: the known seconds or characters, the reported tokens where the price charges tokens, and the
 * vendor's bill. Fewer characters are charged if the provider reports fewer. `null` when the price charges tokens, but
 * the provider reported neither tokens nor a bill that the price charges.
 */
export function paidUsage(reported: UsageVector | null, known: UsageVector, price: CompiledPrice): UsageVector | null {
  if (!price.isByTokens)
    return reported === null ? known : { ...fewerCharacters(reported, known), ...vendorBillOf(reported) };
  if (reported === null || (tokensOf(reported) === 0 && !price.isBilledBy(reported))) return null;
  return { ...reported, seconds: known.seconds, characters: known.characters };
}

/** Never charges more characters than the text has, because the hold covers only those. */
function fewerCharacters(reported: UsageVector, known: UsageVector): UsageVector {
  if (reported.characters === 0 || reported.characters >= known.characters) return known;
  return { ...known, characters: reported.characters };
}
