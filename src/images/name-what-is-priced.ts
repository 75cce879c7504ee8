import { estimating } from '../billing/price';
import type { Candidate } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import { NO_USAGE } from '../providers/contract/usage';
import type { ImageOrder } from './image-order';

const ONE_IMAGE = { ...NO_USAGE, images: 1 };

/**
 * A request may leave open what its price depends on. The first that the catalogue lists is then asked for by name, so that
 * what is priced is what is made; where the price does not depend on it, the choice stays with the provider. Models that may
 * stand in have a say as long as the one that was asked for has its price.
 */
export function nameWhatIsPriced(order: ImageOrder, model: CatalogModel, candidates: readonly Candidate[]): ImageOrder {
  const { media } = model;
  const withSize = { ...order, size: order.size ?? media?.sizes?.[0] ?? null };
  const withQuality = { ...order, quality: order.quality ?? media?.qualities?.[0] ?? null };
  const withBoth = { ...withSize, quality: withQuality.quality };
  const choices = [order, withSize, withQuality, withBoth];
  const own = candidates.filter((candidate) => candidate.model === model);
  const pricedBy = (asked: readonly Candidate[]): ImageOrder | undefined =>
    choices.find((choice) => isPriced(choice, asked));
  return pricedBy(candidates) ?? pricedBy(own) ?? order;
}

/** Whether all of these say what an image of the order costs. */
export function isPriced({ size, quality }: ImageOrder, candidates: readonly Candidate[]): boolean {
  const details = { size: size ?? undefined, quality: quality ?? undefined };
  return candidates.every(({ price }) => price.costMicro(ONE_IMAGE, estimating(details)) !== null);
}
