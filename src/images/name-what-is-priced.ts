import { estimating } from '../billing/pricing/price';
import type { Candidate } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import { NO_USAGE } from '../providers/contract/usage';
import type { ImageOrder } from './image-order';

const ONE_IMAGE = { ...NO_USAGE, images: 1 };

/**
 * Fills in the size or quality that a request omits but its price depends on, with the first value in the catalogue, so that
 * the price matches the image. If the price does not depend on it, the provider chooses. Fallback models are considered as
 * long as the requested model keeps a price.
 */
export function resolvePricedOptions(
  order: ImageOrder,
  model: CatalogModel,
  candidates: readonly Candidate[],
): ImageOrder {
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

/** Whether every candidate has a price for an image of the order. */
export function isPriced({ size, quality }: ImageOrder, candidates: readonly Candidate[]): boolean {
  const details = { size: size ?? undefined, quality: quality ?? undefined };
  return candidates.every(({ price }) => price.costMicro(ONE_IMAGE, estimating(details)) !== null);
}
