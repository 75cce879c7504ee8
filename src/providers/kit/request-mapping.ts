/** Applies the mapping of a deployment (`contract/request-mapping.ts`) to requests and results. */
import type { ImageRequest } from '../contract/images';
import type { JobSpec } from '../contract/media-job';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import type { SpeechRequest } from '../contract/speech';
import { type FieldTarget, listTargets, type MappedField, type RequestMapping } from '../contract/request-mapping';
import { toDataUrl } from './data-url';
import { isJsonObject, type JsonObject } from './json';

/** The values of a request; `null` for fields that the request leaves open. */
export type MappableFields = Readonly<Partial<Record<MappedField, unknown>>>;

/** @throws ProviderError when the catalogue has no mapping for the deployment, which then cannot be called */
export function requireMapping({ mapping }: Pick<ProviderCall, 'mapping'>): RequestMapping {
  if (mapping !== undefined) return mapping;
  throw new ProviderError('provider_error', 'The catalogue does not say how to call this model.', {
    phase: 'connect',
    fallback: true,
  });
}

/** @throws ProviderError `validation_failed` for an option that the upstream does not have */
export function toJobInput(spec: JobSpec, mapping: RequestMapping): JsonObject {
  const common = { prompt: spec.prompt, duration_seconds: spec.durationSeconds };
  if (spec.kind === 'music') {
    const { format, sampleRate, instrumental } = spec;
    const settled = { ...common, format, sample_rate: sampleRate };
    // Music has vocals by default, but some mappings need the field with either value.
    if (!instrumental) return toUpstreamInput(mapping, { ...settled, instrumental });
    return toUpstreamInput(mapping, settled, { instrumental });
  }
  const { resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
  return toUpstreamInput(
    mapping,
    { ...common, resolution, aspect_ratio: aspectRatio, audio },
    {
      image_url: firstFrame && toDataUrl(firstFrame),
      end_image_url: lastFrame && toDataUrl(lastFrame),
      input_images: references.length === 0 ? null : references.map(toDataUrl),
    },
  );
}

/** @throws ProviderError `validation_failed` for an option that the upstream does not have */
export function toImageInput(request: ImageRequest, mapping: RequestMapping): JsonObject {
  const { prompt, count, size, quality, style, format, user, images, mask } = request;
  const shown = { input_images: images.length === 0 ? null : images.map(toDataUrl), mask: mask && toDataUrl(mask) };
  const settled = { prompt, user, ...(count === 1 && { n: count }) };
  return toUpstreamInput(mapping, settled, { size, quality, style, format, ...(count > 1 && { n: count }), ...shown });
}

/** @throws ProviderError `validation_failed` for an option that the upstream does not have */
export function toSpeechInput(request: SpeechRequest, mapping: RequestMapping): JsonObject {
  const { input, voice, format, speed, instructions } = request;
  return toUpstreamInput(mapping, { format }, { input, voice, speed, instructions });
}

/**
 * Builds the upstream's input for a request.
 * @param settled fields whose values the catalogue already restricts: without a target they are dropped
 * @param wanted fields that the upstream must get: without a target they are refused
 * @throws ProviderError `validation_failed`
 */
export function toUpstreamInput(
  { map, fixed = {} }: RequestMapping,
  settled: MappableFields,
  wanted: MappableFields = {},
): JsonObject {
  const input: JsonObject = {};
  for (const [path, value] of Object.entries(fixed)) setPath(input, path, value);
  for (const [name, value] of Object.entries({ ...settled, ...wanted })) {
    const field = name as MappedField;
    if (value === null || value === undefined) continue;
    const targets = map[field];
    if (targets !== undefined)
      for (const each of listTargets(targets)) setPath(input, each.to, convert(value, each, field));
    else if (field in wanted) throw unsupported(field);
  }
  return input;
}

function convert(value: unknown, { values, format, as }: FieldTarget, field: MappedField): unknown {
  if (values !== undefined) {
    const key = String(value);
    if (!Object.hasOwn(values, key)) throw unsupported(field, Object.keys(values));
    return values[key];
  }
  if (format !== undefined) return format.replaceAll('{}', () => String(value));
  switch (as) {
    case undefined:
      return value;
    case 'text':
      return String(value);
    case 'milliseconds':
      return Math.round(Number(value) * 1_000);
    case 'list':
      return Array.isArray(value) ? value : [value];
    case 'single':
      if (Array.isArray(value) && value.length !== 1) throw unsupported(field);
      return Array.isArray(value) ? (value as unknown[])[0] : value;
    default:
      return sidesOf(value, as, field);
  }
}

function sidesOf(value: unknown, as: 'width_height' | 'width' | 'height', field: MappedField): unknown {
  const [width, height] = /^(\d+)x(\d+)$/.exec(String(value))?.slice(1).map(Number) ?? [];
  if (width === undefined || height === undefined) throw unsupported(field);
  return as === 'width_height' ? { width, height } : { width, height }[as];
}

function setPath(input: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? path;
  let object = input;
  for (const name of names) {
    const inner = Object.hasOwn(object, name) ? object[name] : undefined;
    const next = isJsonObject(inner) ? inner : {};
    object[name] = next;
    object = next;
  }
  object[last] = value;
}

function unsupported(param: MappedField, supported?: readonly string[]): ProviderError {
  return new ProviderError('validation_failed', `The model does not support this ${param}.`, {
    phase: 'connect',
    fallback: true,
    param,
    ...(supported !== undefined && { details: { supported } }),
  });
}

const STEP = /\.(\w+)|\[(\d+)\]|\[\*\]/g;

/** The values at a path of a result; empty if the path finds none or is `undefined`. */
export function valuesAt(document: unknown, path: string | undefined): unknown[] {
  let found = path === undefined ? [] : [document];
  for (const [step, name, index] of (path ?? '').matchAll(STEP)) {
    found = found.flatMap((value) => {
      if (step === '[*]') return Array.isArray(value) ? (value as unknown[]) : [];
      const key = name ?? Number(index);
      if (typeof key === 'number') return Array.isArray(value) ? [(value as unknown[])[key]] : [];
      return isJsonObject(value) && Object.hasOwn(value, key) ? [value[key]] : [];
    });
  }
  return found.filter((value) => value !== null && value !== undefined);
}

/** The web URLs at a path of a result. */
export function urlsAt(document: unknown, path: string | undefined): string[] {
  return valuesAt(document, path).filter(
    (value): value is string => typeof value === 'string' && /^https?:\/\//i.test(value),
  );
}
