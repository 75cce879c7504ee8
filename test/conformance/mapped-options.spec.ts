/** Options that the validation accepts for a model, against what the mappings of its deployments can say. */
import { callsFor } from '../../src/images/image-order';
import type { CatalogEntry, CatalogEntryDeployment } from '../../src/models/catalog.schema';
import { loadCatalog } from '../../src/models/load-catalog';
import type { ImageFile, ImageRequest } from '../../src/providers/contract/images';
import type { JobSpec } from '../../src/providers/contract/media-job';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import { toImageInput, toJobInput } from '../../src/providers/kit/request-mapping';
import { musicSpec, videoSpec } from './job-requests';
import { tinyPng } from './media-answers';
import { imageRequest } from './media-requests';

type Media = NonNullable<CatalogEntry['media']>;
type Traits = NonNullable<CatalogEntryDeployment['when']>;
const PNG: ImageFile = { bytes: tinyPng(), contentType: 'image/png' };
/** The contract's, of one request. */
const MAX_IMAGES = 10;

it('of the built-in catalogue can be sent to every deployment of their model', async () => {
  const failures: string[] = [];
  for (const { entry } of await loadCatalog(null)) {
    for (const deployment of entry.deployments) {
      const { map, fixed, output = {} } = deployment;
      if (map === undefined) continue;
      for (const send of senders(entry, deployment, { map, fixed, output })) {
        try {
          send();
        } catch (error) {
          failures.push(`${entry.id} at ${deployment.upstream_model}: ${(error as Error).message}`);
        }
      }
    }
  }
  expect([...new Set(failures)]).toEqual([]);
});

/** One for each option, which the others leave at their defaults. */
function senders(entry: CatalogEntry, deployment: CatalogEntryDeployment, mapping: RequestMapping): (() => unknown)[] {
  const { media = {} } = entry;
  const { when = {} } = deployment;
  switch (entry.modality) {
    case 'image':
      return images(entry, media, deployment).map((request) => () => toImageInput(request, mapping));
    case 'video':
      return videos(media, when).map((spec) => () => toJobInput(spec, mapping));
    case 'music':
      return pieces(media).map((spec) => () => toJobInput(spec, mapping));
    default:
      return [];
  }
}

function images({ features }: CatalogEntry, media: Media, { when = {}, quirks }: CatalogEntryDeployment) {
  const { needs_mask: needsMask = false, edit = false, mask = false } = features;
  const takesImages = (edit || media.references === true) && when.image !== false;
  const base = {
    size: media.sizes?.[0],
    images: when.image === true || needsMask ? [PNG] : [],
    mask: needsMask ? PNG : null,
  };
  const most = media.max_images ?? MAX_IMAGES;
  const options: Partial<ImageRequest>[] = [
    { count: Math.ceil(most / callsFor(most, { quirks })) },
    ...(media.sizes ?? []).map((size) => ({ size })),
    ...(media.qualities ?? []).map((quality) => ({ quality })),
    ...(media.styles ?? []).map((style) => ({ style })),
    ...(takesImages ? [{ images: [PNG] }] : []),
    ...(takesImages && mask ? [{ images: [PNG], mask: PNG }] : []),
  ];
  return options.map((option) => imageRequest({ ...base, ...option }));
}

function videos(media: Media, when: Traits): JobSpec[] {
  const [durationSeconds = 5] = secondsOf(media);
  const base = {
    durationSeconds,
    resolution: media.resolutions?.[0] ?? null,
    audio: media.audio === 'always',
    firstFrame: when.image === true ? PNG : null,
    lastFrame: when.last_frame === true ? PNG : null,
    references: when.references === true ? [PNG] : [],
  };
  return [
    base,
    ...secondsOf(media).map((seconds) => ({ durationSeconds: seconds })),
    ...(media.resolutions ?? []).map((resolution) => ({ resolution })),
    ...(media.aspect_ratios ?? []).map((aspectRatio) => ({ aspectRatio })),
    ...(media.audio === 'optional' ? [{ audio: true }] : []),
    ...(media.first_frame === true && when.image !== false ? [{ firstFrame: PNG }] : []),
    ...(media.last_frame === true && when.last_frame !== false ? [{ lastFrame: PNG }] : []),
    ...(media.references === true && when.references !== false ? [{ references: [PNG] }] : []),
  ].map((option) => videoSpec({ ...base, ...option }));
}

function pieces(media: Media): JobSpec[] {
  const [durationSeconds = 30] = secondsOf(media);
  const base = { durationSeconds, format: media.formats?.[0] ?? null };
  return [
    base,
    { instrumental: true },
    ...secondsOf(media).map((seconds) => ({ durationSeconds: seconds })),
    ...(media.formats ?? []).map((format) => ({ format })),
    ...(media.sample_rates ?? []).map((sampleRate) => ({ sampleRate })),
  ].map((option) => musicSpec({ ...base, ...option }));
}

function secondsOf({ durations = [] }: Media): readonly number[] {
  return 'min' in durations ? [durations.min, durations.max] : durations;
}
