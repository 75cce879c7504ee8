/** What the catalogue says about a model, held against what is asked of it. Pure. */
import { GatewayError } from '../common/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import type { ImageOrder } from './image-order';

/** What a model cannot do of an order. */
interface Mismatch {
  readonly param: string;
  readonly message: string;
  /** What it can do instead. */
  readonly details?: object;
}

/** @throws GatewayError `validation_failed`; `details` say what the model offers. */
export function assertSupported(order: ImageOrder, model: CatalogModel): void {
  const mismatch = findMismatch(order, model);
  if (mismatch === null) return;
  const { param, message, details } = mismatch;
  throw new GatewayError('validation_failed', message, { param, details });
}

export function isSupported(order: ImageOrder, model: CatalogModel): boolean {
  return findMismatch(order, model) === null;
}

/** A list that the catalogue does not have is not known, which keeps nobody from asking. */
function findMismatch(order: ImageOrder, model: CatalogModel): Mismatch | null {
  const { media } = model;
  return (
    notListed('size', order.size, media?.sizes, model) ??
    notListed('quality', order.quality, media?.qualities, model) ??
    notListed('style', order.style, media?.styles, model) ??
    tooMany(order, model) ??
    notEditing(order, model)
  );
}

function notListed(
  param: 'size' | 'quality' | 'style',
  value: string | null,
  supported: readonly string[] | undefined,
  { id }: CatalogModel,
): Mismatch | null {
  if (value === null || supported === undefined || supported.includes(value)) return null;
  return { param, message: `${id} does not offer this ${param}.`, details: { supported } };
}

function tooMany({ count }: ImageOrder, { id, media }: CatalogModel): Mismatch | null {
  const maximum = media?.max_images ?? count;
  if (count <= maximum) return null;
  return { param: 'n', message: `${id} makes at most ${maximum} at a time.`, details: { maximum } };
}

/** A model that edits images can follow them, too. */
function notEditing(order: ImageOrder, { id, features, media }: CatalogModel): Mismatch | null {
  if (order.isEdit && features.edit !== true) return { param: 'model', message: `${id} does not edit images.` };
  if (order.mask !== null && features.mask !== true) return { param: 'mask', message: `${id} takes no mask.` };
  const follows = features.edit === true || media?.references === true;
  if (order.sources.length === 0 || follows) return null;
  return { param: order.sourceField, message: `${id} makes images from text alone.` };
}
