import { Injectable, Logger } from '@nestjs/common';
import { ImageInputs, type ParsedImage, verifyImage } from '../media/image-inputs';
import { OutboundClient } from '../outbound/outbound-client';
import type { ImageFile } from '../providers/contract/images';
import { toObjectKey } from '../storage/object-key';
import { StoredObjects } from '../storage/stored-objects';
import type { MediaJob } from './media-job.types';

/** Beyond the indexes of the results, which count from 0: what belongs to a job goes with it. */
const FIRST_INPUT_INDEX = 900;
/** How an image that came with the request is told of afterwards: no address of a client looks like that. */
const INLINE_IMAGE = /^data:(image\/[a-z]+);bytes=\d+$/;

/** An address of a submission and the field that it came in. */
export interface NamedAddress {
  readonly param: string;
  readonly url: string;
}

/** What a submission shows to its model. */
export interface JobSources {
  readonly addresses: readonly NamedAddress[];
  /** As they were sent; the field is `input_images`. */
  readonly references: readonly string[];
}

/** Pictures for a video, fetched and looked at. */
export interface VideoImages {
  readonly firstFrame: ImageFile | null;
  readonly lastFrame: ImageFile | null;
  readonly references: readonly ImageFile[];
}

/** The members of a video's `params` that are pictures. */
interface PictureParams {
  readonly image_url?: string;
  readonly end_image_url?: string;
  readonly input_images?: readonly string[];
}

type Owner = Pick<MediaJob, 'id' | 'organizationId'>;

/**
 * The images of a video job. Addresses are judged at the submission and fetched by the worker; images that came with the
 * request wait for the worker in the object storage, so that neither the job's row nor its replies carry them.
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
   * What can be told without I/O. Answers with the references.
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, with `param`
   */
  parse({ addresses, references }: JobSources): readonly ParsedImage[] {
    for (const { url, param } of addresses) this.outbound.assertPublicUrl(url, param);
    return this.images.parse(references, 'input_images');
  }

  /** Looks up the hosts of all addresses, at once. @throws GatewayError `ssrf_blocked`, with `param` */
  async assertPublicHosts(addresses: readonly NamedAddress[], references: readonly ParsedImage[]): Promise<void> {
    const all = [...addresses, ...references.filter((reference) => 'url' in reference)];
    await Promise.all(all.map(({ url, param }) => this.outbound.assertPublicHost(url, param)));
  }

  /** Keeps the images that came with the request. @throws GatewayError `service_unavailable` */
  async store(owner: Owner, references: readonly ParsedImage[]): Promise<void> {
    await Promise.all(
      references.map(async (reference, position) => {
        if ('url' in reference) return;
        const { bytes: body, contentType } = reference.image;
        await this.objects.store({ ...objectOwner(owner), index: FIRST_INPUT_INDEX + position, contentType, body });
      }),
    );
  }

  /** Of a job that was not accepted. Never throws: what is left goes with its retention. */
  async discard(owner: Owner, references: readonly ParsedImage[]): Promise<void> {
    if (references.every((reference) => 'url' in reference)) return;
    try {
      await this.objects.deleteAll(objectOwner(owner));
    } catch (error) {
      this.logger.warn(`The images of a job that was not accepted are left to their retention: ${String(error)}`);
    }
  }

  /**
   * The pictures of an accepted job; addresses are fetched, all at once.
   * @throws GatewayError `validation_failed` or `ssrf_blocked` with the field as `param`, which will not get better;
   * `service_unavailable`
   */
  async load(job: Owner & Pick<MediaJob, 'params'>, signal: AbortSignal): Promise<VideoImages> {
    const { image_url: first, end_image_url: last, input_images: references = [] } = job.params as PictureParams;
    const sources: Promise<ParsedImage>[] = [];
    if (first !== undefined) sources.push(Promise.resolve({ param: 'image_url', url: first }));
    if (last !== undefined) sources.push(Promise.resolve({ param: 'end_image_url', url: last }));
    references.forEach((reference, position) => sources.push(this.locate(job, reference, position)));
    const pictures = await this.images.load(await Promise.all(sources), signal);
    return {
      firstFrame: first === undefined ? null : (pictures.shift() ?? null),
      lastFrame: last === undefined ? null : (pictures.shift() ?? null),
      references: pictures,
    };
  }

  private async locate(job: Owner, reference: string, position: number): Promise<ParsedImage> {
    const param = `input_images[${position}]`;
    const [, contentType] = INLINE_IMAGE.exec(reference) ?? [];
    if (contentType === undefined) return { param, url: reference };
    const bytes = await this.objects.read(toObjectKey(objectOwner(job), FIRST_INPUT_INDEX + position, contentType));
    // Gone with its retention, it is no image any more.
    return { param, image: verifyImage(bytes ?? Buffer.alloc(0), param) };
  }
}

/** How references are told of in the `params` of their job: addresses as they are, images by their type and size. */
export function describeReferences(references: readonly ParsedImage[]): string[] {
  return references.map((reference) =>
    'url' in reference ? reference.url : `data:${reference.image.contentType};bytes=${reference.image.bytes.length}`,
  );
}

function objectOwner({ id, organizationId }: Owner) {
  return { kind: 'video', organizationId, id } as const;
}
