/** Options that the validation accepts for a model, against what the mappings of its deployments can say. */
import { callsFor } from '../../src/images/image-order';
import type { CatalogEntry, CatalogEntryDeployment } from '../../src/models/catalog.schema';
import { loadCatalog } from '../../src/models/load-catalog';
import type { ImageFile, ImageRequest } from '../../src/providers/contract/images';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import { toImageInput } from '../../src/providers/kit/request-mapping';
import { tinyPng } from './media-answers';
import { imageRequest } from './media-requests';

type Media = NonNullable<CatalogEntry['media']>;
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
  switch (entry.modality) {
    case 'image':
      return images(entry, media, deployment).map((request) => () => toImageInput(request, mapping));
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
