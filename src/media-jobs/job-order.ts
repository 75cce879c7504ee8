import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel, RequestTraits } from '../models/catalog-model';
import type { ImageFile } from '../providers/contract/images';
import type { JobSpec } from '../providers/contract/media-job';
import type { JobFieldsDto } from './dto/job-fields.dto';
import type { MusicRequestDto } from './dto/music-request.dto';
import type { VideoRequestDto } from './dto/video-request.dto';
import type { JobSources, NamedUrl } from './job-inputs';
import { musicSettings, videoSettings } from './job-support';
import type { JobKind, JobSettings, MusicSettings, VideoSettings } from './media-job.types';

const UNREAD_IMAGE: ImageFile = { bytes: Buffer.alloc(0), contentType: 'image/png' };

/** Maximum UTF-8 bytes of all names and values. */
const MAX_METADATA_BYTES = 16_384;

/** A submission of either kind. */
export interface JobOrder {
  readonly kind: JobKind;
  /** Operation id of the document. */
  readonly operation: 'createVideo' | 'createMusic';
  readonly body: JobFieldsDto;
  readonly sources: JobSources;
  readonly traits: RequestTraits;
  /**
   * Resolves the request for a model.
   * @throws GatewayError `validation_failed` for an option that the model does not support
   */
  specify(model: CatalogModel): SpecifiedJob;
}

export interface SpecifiedJob {
  readonly settings: JobSettings;
  /** The job for adapters that check it; its images are empty. */
  readonly outline: JobSpec;
  /** The `params` of the job, with defaults filled in. @param references as {@link describeReferences} shows them */
  params(references: readonly string[]): Readonly<Record<string, unknown>>;
  /** Whether another model resolves to the same settings. */
  isMadeBy(model: CatalogModel): boolean;
}

export function orderVideo(body: VideoRequestDto): JobOrder {
  const { prompt, image_url, end_image_url, input_images } = body;
  const frames = { image_url, end_image_url };
  return {
    kind: 'video',
    operation: 'createVideo',
    body,
    sources: { urls: urlsOf({ ...frames, webhook_url: body.webhook_url }), references: input_images ?? [] },
    traits: { image: image_url != null, last_frame: end_image_url != null, references: !!input_images?.length },
    specify: (model) => {
      const settings = videoSettings(model, body);
      return {
        settings,
        outline: {
          kind: 'video',
          prompt,
          ...settings,
          firstFrame: image_url == null ? null : UNREAD_IMAGE,
          lastFrame: end_image_url == null ? null : UNREAD_IMAGE,
          references: (input_images ?? []).map(() => UNREAD_IMAGE),
        },
        params: (references) =>
          withoutNull({
            prompt,
            ...videoFields(settings),
            ...frames,
            input_images: references.length === 0 ? null : references,
          }),
        isMadeBy: (other) => isSame(settings, () => videoSettings(other, { ...body, ...videoFields(settings) })),
      };
    },
  };
}

export function orderMusic(body: MusicRequestDto): JobOrder {
  return {
    kind: 'music',
    operation: 'createMusic',
    body,
    sources: { urls: urlsOf({ webhook_url: body.webhook_url }), references: [] },
    traits: {},
    specify: (model) => {
      const settings = musicSettings(model, body);
      return {
        settings,
        outline: { kind: 'music', prompt: body.prompt, ...settings },
        params: () => withoutNull({ prompt: body.prompt, ...musicFields(settings) }),
        isMadeBy: (other) => isSame(settings, () => musicSettings(other, musicFields(settings))),
      };
    },
  };
}

/** A size limit that the schema cannot express. @throws GatewayError `validation_failed` */
export function assertMetadataFits({ metadata }: JobFieldsDto): void {
  if (metadata == null) return;
  const bytes = Object.entries(metadata).reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);
  if (bytes <= MAX_METADATA_BYTES) return;
  throw new GatewayError('validation_failed', `metadata may have at most ${MAX_METADATA_BYTES} bytes in total.`, {
    param: 'metadata',
  });
}

function videoFields({ durationSeconds, resolution, aspectRatio, audio }: VideoSettings) {
  return { duration_seconds: durationSeconds, resolution, aspect_ratio: aspectRatio, audio };
}

function musicFields({ durationSeconds, format, sampleRate, instrumental }: MusicSettings) {
  return { duration_seconds: durationSeconds, format, sample_rate: sampleRate, instrumental };
}

function urlsOf(fields: Readonly<Record<string, string | null | undefined>>): NamedUrl[] {
  return Object.entries(fields).flatMap(([param, url]) => (url == null ? [] : [{ param, url }]));
}

function withoutNull(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}

function isSame(settings: JobSettings, ofOther: () => JobSettings): boolean {
  try {
    return isDeepStrictEqual(ofOther(), settings);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'validation_failed') return false;
    throw error;
  }
}
