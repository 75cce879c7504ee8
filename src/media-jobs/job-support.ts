import { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel, MediaSupport } from '../models/catalog-model';
import type { MusicSettings, VideoSettings } from './media-job.types';

/** The model-dependent fields of a video request; the DTO has validated their form. */
export interface RequestedVideo {
  readonly duration_seconds?: number | null;
  readonly resolution?: string | null;
  readonly aspect_ratio?: string | null;
  readonly audio?: boolean | null;
  readonly image_url?: string | null;
  readonly end_image_url?: string | null;
  readonly input_images?: readonly string[] | null;
}

export interface RequestedMusic {
  readonly duration_seconds?: number | null;
  readonly format?: string | null;
  readonly sample_rate?: number | null;
  readonly instrumental?: boolean | null;
}

type ModelMedia = Pick<CatalogModel, 'id' | 'media'>;

/** The default duration is short, since video is charged per second. */
const USUAL_VIDEO_SECONDS = 5;
const USUAL_MUSIC_SECONDS = 30;

/**
 * Resolves a video request for its model. An absent option gets the first value of the catalogue's list, so that price
 * and provider use the same settings. Nothing is rounded or dropped.
 * @throws GatewayError `validation_failed` with the unsupported field as `param`
 */
export function videoSettings({ id, media }: ModelMedia, requested: RequestedVideo): VideoSettings {
  const support = media ?? {};
  requireSupport(id, support.first_frame === true || requested.image_url == null, 'image_url');
  requireSupport(id, support.last_frame === true || requested.end_image_url == null, 'end_image_url');
  requireSupport(id, support.references === true || !requested.input_images?.length, 'input_images');
  return {
    durationSeconds: durationOf(id, support.durations, requested.duration_seconds, USUAL_VIDEO_SECONDS),
    resolution:
      choiceOf(id, support.resolutions, requested.resolution, 'resolution') ?? support.resolutions?.[0] ?? null,
    aspectRatio: choiceOf(id, support.aspect_ratios, requested.aspect_ratio, 'aspect_ratio'),
    audio: audioOf(id, support.audio, requested.audio),
  };
}

/** Resolves a music request for its model, as {@link videoSettings} does. */
export function musicSettings({ id, media }: ModelMedia, requested: RequestedMusic): MusicSettings {
  const support = media ?? {};
  return {
    durationSeconds: durationOf(id, support.durations, requested.duration_seconds, USUAL_MUSIC_SECONDS),
    format: choiceOf(id, support.formats, requested.format, 'format') ?? support.formats?.[0] ?? null,
    sampleRate: choiceOf(id, support.sample_rates, requested.sample_rate, 'sample_rate'),
    instrumental: requested.instrumental ?? false,
  };
}

/** `null` for an absent option. A model without a list supports no value. */
function choiceOf<Value extends string | number>(
  model: string,
  supported: readonly Value[] = [],
  wanted: Value | null | undefined,
  param: string,
): Value | null {
  if (wanted == null) return null;
  if (supported.includes(wanted)) return wanted;
  throw unsupported(model, param, supported);
}

function durationOf(
  model: string,
  supported: MediaSupport['durations'],
  wanted: number | null | undefined,
  usual: number,
): number {
  if (supported === undefined) return wanted ?? usual;
  if (isList(supported)) return choiceOf(model, supported, wanted, 'duration_seconds') ?? supported[0] ?? usual;
  const { min, max, step } = supported;
  if (wanted == null) return usualWithin(supported, usual);
  if (wanted >= min && wanted <= max && (step === undefined || isMultiple(wanted - min, step))) return wanted;
  throw unsupported(model, 'duration_seconds', supported);
}

function isList(durations: NonNullable<MediaSupport['durations']>): durations is readonly number[] {
  return Array.isArray(durations);
}

/** The longest supported duration up to the usual one, else the shortest. */
function usualWithin({ min, max, step }: { min: number; max: number; step?: number }, usual: number): number {
  const longest = Math.max(min, Math.min(max, usual));
  return step === undefined ? longest : min + Math.floor((longest - min) / step) * step;
}

/** Steps are whole seconds, so only whole numbers can be multiples. */
function isMultiple(seconds: number, step: number): boolean {
  return seconds % step === 0;
}

function audioOf(model: string, support: MediaSupport['audio'], wanted: boolean | null | undefined): boolean {
  if (wanted == null) return support === 'always';
  requireSupport(model, wanted ? support === 'always' || support === 'optional' : support !== 'always', 'audio');
  return wanted;
}

function requireSupport(model: string, isSupported: boolean, param: string): void {
  if (!isSupported) throw unsupported(model, param);
}

function unsupported(model: string, param: string, supported?: unknown): GatewayError {
  const hasChoice = Array.isArray(supported) ? supported.length > 0 : supported !== undefined;
  return new GatewayError('validation_failed', `${model} does not support this ${param}.`, {
    param,
    ...(hasChoice && { details: { supported } }),
  });
}
