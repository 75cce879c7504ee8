import { estimating } from '../billing/pricing/price';
import { GatewayError } from '../core/errors/gateway-error';
import type { ImageInput, ParsedImage } from '../core/media/image-inputs';
import type { Candidate } from '../inference/inference.types';
import { promptTokens } from '../inference/token-estimate';
import type { CatalogModel } from '../models/catalog-model';
import type { ImageOptions } from '../providers/contract/images';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import type { ImageFieldsDto, ImageResponseFormat } from './dto/image-request.dto';

/** A request for images, independent of its encoding. */
export interface ImageOrder extends ImageOptions {
  readonly responseFormat: ImageResponseFormat;
  /** An edit, as opposed to a generation with reference images. */
  readonly isEdit: boolean;
  readonly sources: readonly ParsedImage[];
  /** The request field of the source images. */
  readonly sourceField: string;
  readonly mask: ImageInput | null;
}

/** The input images of an order. */
export type OrderImages = Pick<ImageOrder, 'sources' | 'sourceField' | 'mask'>;

/** Percent, the default of every provider with this option; PNG images have no other value. */
const DEFAULT_COMPRESSION = 100;

/** Official clients send `auto` for the model's default; not every vendor accepts it. */
function unlessAuto(value: string | null | undefined): string | null {
  return value == null || value === 'auto' ? null : value;
}

export function toImageOrder(body: ImageFieldsDto, images: OrderImages & Pick<ImageOrder, 'isEdit'>): ImageOrder {
  return {
    prompt: body.prompt,
    count: body.n ?? 1,
    size: unlessAuto(body.size),
    quality: unlessAuto(body.quality),
    style: body.style ?? null,
    format: body.output_format ?? null,
    background: unlessAuto(body.background),
    complexity: body.complexity ?? null,
    compression: body.output_compression === DEFAULT_COMPRESSION ? null : (body.output_compression ?? null),
    moderation: unlessAuto(body.moderation),
    inputFidelity: images.sources.length === 0 ? null : (body.input_fidelity ?? null),
    user: body.user ?? null,
    responseFormat: body.response_format ?? 'url',
    ...images,
  };
}

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

/** A list that the catalogue lacks is unknown, so it allows every value. */
function findMismatch(order: ImageOrder, model: CatalogModel): Mismatch | null {
  const { media } = model;
  return (
    notListed('size', order.size, media?.sizes, model) ??
    notListed('quality', order.quality, media?.qualities, model) ??
    notListed('style', order.style, media?.styles, model) ??
    notListed('output_format', order.format, media?.formats, model) ??
    notListed('background', order.background, media?.backgrounds, model) ??
    transparentJpeg(order) ??
    compressedPng(order) ??
    tooMany(order, model) ??
    notEditing(order, model)
  );
}

function notListed(
  param: 'size' | 'quality' | 'style' | 'output_format' | 'background',
  value: string | null,
  supported: readonly string[] | undefined,
  { id }: CatalogModel,
): Mismatch | null {
  if (value === null || supported === undefined || supported.includes(value)) return null;
  return { param, message: `${id} does not support this ${param}.`, details: { supported } };
}

function transparentJpeg({ format, background }: ImageOrder): Mismatch | null {
  if (format !== 'jpeg' || background !== 'transparent') return null;
  return { param: 'background', message: 'JPEG images cannot have a transparent background.' };
}

/** Models that support compression make PNG images by default. */
function compressedPng({ format, compression }: ImageOrder): Mismatch | null {
  if (compression === null || format === 'jpeg' || format === 'webp') return null;
  const message = 'Only images with the output_format jpeg or webp can be compressed.';
  return { param: 'output_compression', message, details: { supported: [DEFAULT_COMPRESSION] } };
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
  if (features.needs_mask === true) return unmasked(order, id);
  const takesReferences = features.edit === true || media?.references === true;
  if (order.sources.length === 0 || takesReferences) return null;
  return { param: order.sourceField, message: `${id} does not accept input images.` };
}

function unmasked({ isEdit, mask }: ImageOrder, id: string): Mismatch | null {
  if (!isEdit) return { param: 'model', message: `${id} only edits images. Use /v1/images/edits.` };
  return mask === null ? { param: 'mask', message: `${id} requires a mask.` } : null;
}

const ONE_IMAGE = { ...NO_USAGE, images: 1 };

/**
 * Fills in the size or quality that a request omits but its price depends on, with the first value in the catalogue, so
 * that the price matches the image. If the price does not depend on it, the provider chooses. Fallback models are
 * considered as long as the requested model keeps a price.
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

/** Output tokens of GPT Image models for 1,024 × 1,024 pixels; other sizes scale in proportion. */
const TOKENS_PER_SQUARE: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
const SQUARE_PIXELS = 1_024 * 1_024;
/** The largest common size, for requests without one. */
const DEFAULT_PIXELS = 1_536 * 1_024;
/** The most tokens that these models count for an input image. */
const TOKENS_PER_SOURCE = 6_240;

/**
 * The expected usage of an order: `count` images, and their tokens where a candidate charges by tokens. A candidate
 * that makes fewer images per call reads the prompt more often.
 */
export function estimateImages(
  order: ImageOrder,
  count: number,
  candidates: readonly Candidate[],
  tokensPerByte: number,
): UsageVector {
  if (!candidates.some(({ price }) => price.isByTokens)) return { ...NO_USAGE, images: count };
  const calls = Math.max(...candidates.map((candidate) => callsFor(count, candidate)));
  const textBytes = Buffer.byteLength(order.prompt);
  const shown = order.sources.length + (order.mask === null ? 0 : 1);
  return {
    ...NO_USAGE,
    inputText: calls * promptTokens({ textBytes, fixedTokens: 0 }, tokensPerByte),
    inputImage: calls * shown * TOKENS_PER_SOURCE,
    outputImage: count * drawnTokens(order),
    images: count,
  };
}

/** Number of calls that a candidate needs for `count` images. */
export function callsFor(count: number, { quirks }: Pick<Candidate, 'quirks'>): number {
  return Math.ceil(count / (quirks.imagesPerCall ?? count));
}

function drawnTokens({ size, quality }: ImageOrder): number {
  const perSquare = TOKENS_PER_SQUARE[quality ?? ''] ?? Math.max(...Object.values(TOKENS_PER_SQUARE));
  const [width, height] = (size ?? '').split('x').map(Number);
  const pixels = width !== undefined && height !== undefined ? width * height : DEFAULT_PIXELS;
  return Math.ceil((perSquare * pixels) / SQUARE_PIXELS);
}
