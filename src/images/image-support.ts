/** Compares an order with the catalogue entry of a model. Pure functions. */
import { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import type { ImageOrder } from './image-order';

/** The part of an order that a model does not support. */
interface Mismatch {
  readonly param: string;
  readonly message: string;
  /** The supported values. */
  readonly details?: object;
}

/** @throws GatewayError `validation_failed`; `details` list the supported values. */
export function assertSupported(order: ImageOrder, model: CatalogModel): void {
  const mismatch = findMismatch(order, model);
  if (mismatch === null) return;
  const { param, message, details } = mismatch;
  throw new GatewayError('validation_failed', message, { param, details });
}

export function isSupported(order: ImageOrder, model: CatalogModel): boolean {
  return findMismatch(order, model) === null;
}

/** A list that is missing in the catalogue is unknown and allows every value. */
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
  return { param, message: `${id} does not support this ${param}.`, details: { supported } };
}

function tooMany({ count }: ImageOrder, { id, media }: CatalogModel): Mismatch | null {
  const maximum = media?.max_images ?? count;
  if (count <= maximum) return null;
  return { param: 'n', message: `${id} generates at most ${maximum} images per request.`, details: { maximum } };
}

/** A model that edits images also accepts reference images. */
function notEditing(order: ImageOrder, { id, features, media }: CatalogModel): Mismatch | null {
  if (order.isEdit && features.edit !== true) return { param: 'model', message: `${id} does not support image edits.` };
  if (order.mask !== null && features.mask !== true) return { param: 'mask', message: `${id} does not support masks.` };
  const takesReferences = features.edit === true || media?.references === true;
  if (order.sources.length === 0 || takesReferences) return null;
  return { param: order.sourceField, message: `${id} does not accept input images.` };
}
