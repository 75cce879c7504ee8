import { Injectable, Logger } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { type ImageInput, ImageInputs, type ParsedImage, verifyImage } from '../core/media/image-inputs';
import { inStep, type RequestTrace } from '../core/types/trace';
import { OutboundClient } from '../core/outbound/outbound-client';
import type { MemoryClaim } from '../core/types/request-context';
import type { ImageFile } from '../providers/contract/images';
import type { JobSpec } from '../providers/contract/media-job';
import { toObjectKey } from '../core/storage/object-key';
import { StoredObjects } from '../core/storage/stored-objects';
import type { ImageParams } from './job-lane';
import type { MediaJob, MusicSettings, VideoSettings } from './media-job.types';

/**
 * Index of the first input. Above the indexes of the results, which count from 0, so that deleting the job's objects
 * includes its inputs.
 */
const FIRST_INPUT_INDEX = 900;
const FIRST_FRAME_INDEX = 998;
const LAST_FRAME_INDEX = 999;
/** How `params` describes an inline image. Clients cannot send a URL of this form. */
const INLINE_IMAGE = /^data:(image\/[a-z]+);bytes=\d+$/;

/** A URL of a submission and the field that contains it. */
export interface NamedUrl {
  readonly param: string;
  readonly url: string;
}

/** The URLs and images of a submission. */
export interface JobSources {
  readonly urls: readonly NamedUrl[];
  /** `input_images` as sent. */
  readonly references: readonly string[];
}

/** Images for a video, fetched and verified. */
export interface VideoImages {
  readonly firstFrame: ImageFile | null;
  readonly lastFrame: ImageFile | null;
  readonly references: readonly ImageFile[];
}

export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Claims the fetched bytes. */
  readonly memory: MemoryClaim;
  readonly trace: RequestTrace | null;
}

type Owner = Pick<MediaJob, 'id' | 'organizationId'>;

/**
 * The images of a video job. Submission checks their URLs; a worker fetches them before it submits the job to a
 * provider. All images are kept in object storage: the row and the replies stay small, and every submission sends the
 * same bytes.
 */
@Injectable()
export class JobInputs {
  private readonly logger = new Logger(JobInputs.name);

  constructor(
    private readonly images: ImageInputs,
    private readonly outbound: OutboundClient,
    private readonly objects: StoredObjects,
  ) {}

  /**
   * The checks that need no I/O. Returns the parsed references.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, with `param`
   */
  parse({ urls, references }: JobSources): readonly ParsedImage[] {
    for (const { url, param } of urls) this.outbound.assertPublicUrl(url, param);
    return this.images.parse(references, 'input_images');
  }

  /** Resolves the hosts of all URLs concurrently. @throws GatewayError `ssrf_blocked`, with `param` */
  async assertPublicHosts(urls: readonly NamedUrl[], references: readonly ParsedImage[]): Promise<void> {
    const all = [...urls, ...references.filter((reference) => 'url' in reference)];
    await Promise.all(all.map(({ url, param }) => this.outbound.assertPublicHost(url, param)));
  }

  /** Stores the inline images. @throws GatewayError `service_unavailable` */
  async store(owner: Owner, references: readonly ParsedImage[]): Promise<void> {
    await Promise.all(
      references.map(async (reference, position) => {
        if ('url' in reference) return;
        const { bytes: body, contentType } = reference.image;
        await this.objects.store({ ...objectOwner(owner), index: FIRST_INPUT_INDEX + position, contentType, body });
      }),
    );
  }

  /** Deletes the images of a job that was not accepted. Never throws: retention removes what remains. */
  async discard(owner: Owner, references: readonly ParsedImage[]): Promise<void> {
    if (references.every((reference) => 'url' in reference)) return;
    try {
      await this.objects.deleteAll(objectOwner(owner));
    } catch (error) {
      this.logger.warn({
        message: 'failed to delete the images of a rejected job; retention will remove them',
        event: 'job_input_cleanup_failed',
        job_id: owner.id,
        err: error,
      });
    }
  }

  /**
   * Fetches all images that an accepted job names by URL and stores them beside the inline ones. Returns their content
   * types by field, which {@link load} needs.
   * @throws GatewayError `validation_failed` or `ssrf_blocked` with the field as `param`, both permanent;
   * `service_unavailable`, also without memory
   */
  async fetch(
    job: Owner & Pick<MediaJob, 'params'>,
    { signal, memory, trace }: FetchOptions,
  ): Promise<Readonly<Record<string, string>>> {
    const named = imagesOf(job.params);
    const sources = await Promise.all(named.map((image) => this.locate(job, image, trace)));
    const images = await inStep(trace, 'download', () => this.images.load(sources, signal, memory), { kind: 'client' });
    const types: Record<string, string> = {};
    await Promise.all(
      images.map(async ({ bytes: body, contentType }, position) => {
        const { param, source, index } = named[position] as NamedImage;
        if (INLINE_IMAGE.test(source)) return;
        await this.objects.store({ ...objectOwner(job), index, contentType, body, trace });
        types[param] = contentType;
      }),
    );
    return types;
  }

  /** The stored bytes of all images of a job that is not submitted yet. @throws GatewayError `service_unavailable` */
  async storedBytes(job: Owner & Pick<MediaJob, 'params'>): Promise<number> {
    return imagesOf(job.params).length === 0 ? 0 : this.objects.storedBytes(objectOwner(job));
  }

  /**
   * Reads the images of a job from object storage, after {@link fetch}.
   * @throws GatewayError `validation_failed` for an image that is no longer stored; `service_unavailable`
   */
  async load(
    job: Owner & Pick<MediaJob, 'params' | 'inputTypes'>,
    trace: RequestTrace | null = null,
  ): Promise<VideoImages> {
    const named = imagesOf(job.params);
    const images = await Promise.all(named.map((image) => this.read(job, image, trace, job.inputTypes?.[image.param])));
    const at = (param: string): ImageFile | null => images[named.findIndex((image) => image.param === param)] ?? null;
    return {
      firstFrame: at('image_url'),
      lastFrame: at('end_image_url'),
      references: images.filter((_, position) => named[position]?.param.startsWith('input_images')),
    };
  }

  private async locate(job: Owner, image: NamedImage, trace: RequestTrace | null): Promise<ParsedImage> {
    const { param, source } = image;
    return INLINE_IMAGE.test(source) ? { param, image: await this.read(job, image, trace) } : { param, url: source };
  }

  /** @param fetchedType content type of an image that was fetched from its URL */
  private async read(
    job: Owner,
    { param, source, index }: NamedImage,
    trace: RequestTrace | null,
    fetchedType?: string,
  ): Promise<ImageInput> {
    const contentType = INLINE_IMAGE.exec(source)?.[1] ?? fetchedType;
    const key = contentType === undefined ? null : toObjectKey(objectOwner(job), index, contentType);
    const bytes = key === null ? null : await this.objects.read(key, trace);
    if (bytes === null) {
      throw new GatewayError('validation_failed', `${param} is no longer stored. Submit the job again.`, { param });
    }
    return verifyImage(bytes, param);
  }
}

/** An image of a job, with the index of its object. */
interface NamedImage {
  readonly param: string;
  /** A URL, or the {@link describeReferences} form of an inline image. */
  readonly source: string;
  readonly index: number;
}

function imagesOf(params: MediaJob['params']): NamedImage[] {
  const { image_url: first, end_image_url: last, input_images: references = [] } = params as ImageParams;
  const named = references.map((source, position) => ({
    param: `input_images[${position}]`,
    source,
    index: FIRST_INPUT_INDEX + position,
  }));
  if (first !== undefined) named.push({ param: 'image_url', source: first, index: FIRST_FRAME_INDEX });
  if (last !== undefined) named.push({ param: 'end_image_url', source: last, index: LAST_FRAME_INDEX });
  return named;
}

/** References as the job's `params` shows them: URLs unchanged, inline images by type and size. */
export function describeReferences(references: readonly ParsedImage[]): string[] {
  return references.map((reference) =>
    'url' in reference ? reference.url : `data:${reference.image.contentType};bytes=${reference.image.bytes.length}`,
  );
}

function objectOwner({ id, organizationId }: Owner) {
  return { kind: 'video', organizationId, id } as const;
}

/**
 * Builds the provider request of a job, with the stored images of a video.
 * @throws GatewayError `validation_failed` for an image that is no longer stored; `service_unavailable`
 */
export async function readJobSpec(job: MediaJob, inputs: JobInputs, trace: RequestTrace | null): Promise<JobSpec> {
  const prompt = String(job.params.prompt);
  if (job.kind === 'music') return { kind: 'music', prompt, ...(job.settings as MusicSettings) };
  return { kind: 'video', prompt, ...(job.settings as VideoSettings), ...(await inputs.load(job, trace)) };
}
