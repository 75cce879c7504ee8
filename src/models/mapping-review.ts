import type { Modality } from '../core/types/modality';
import { listTargets, type MappedField, type RequestMapping } from '../providers/contract/request-mapping';
import type { MediaSupport, RequestTraits } from './catalog-model';

/** What the review of a deployment's mapping depends on. */
export interface MappedModel {
  readonly modality: Modality;
  readonly features: { readonly edit?: boolean; readonly mask?: boolean };
  readonly media?: MediaSupport;
}

/** The output that each modality requires; `null`: no upstream with a mapping serves the modality. */
const OUTPUTS = {
  image: 'image',
  video: 'video',
  music: 'audio',
  speech: 'audio',
  text: null,
  embedding: null,
  transcription: null,
} as const;

/**
 * Finds the parts that a deployment's mapping lacks. An option that a client may choose but that has no upstream field
 * would be dropped silently, so the catalogue must either map it or not offer it.
 * @returns `map.<field>` or `output.<kind>`
 */
export function missingMappings(
  model: MappedModel,
  { map, output }: Pick<RequestMapping, 'map' | 'output'>,
  when: RequestTraits = {},
): string[] {
  const kind = OUTPUTS[model.modality];
  if (kind === null) return [];
  const isMade = (field: MappedField) =>
    field === 'format' && model.modality === 'speech' && output.audio_format !== undefined;
  const missing = requiredFields(model, when).filter((field) => map[field] === undefined && !isMade(field));
  const paths = missing.map((field) => `map.${field}`);
  return output[kind] === undefined ? [...paths, `output.${kind}`] : paths;
}

/**
 * Two parts of a mapping that write the same field of the upstream, or one inside the other: one value would be lost.
 */
export interface MappingConflict {
  /** The later of the two: `map.<field>` or `fixed`. */
  readonly part: string;
  readonly message: string;
}

export function conflictingMappings({ map, fixed = {} }: Pick<RequestMapping, 'map' | 'fixed'>): MappingConflict[] {
  const written: string[] = [];
  const conflicts: MappingConflict[] = [];
  const note = (part: string, path: string): void => {
    const other = written.find((each) => `${each}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${each}.`));
    if (other !== undefined) conflicts.push({ part, message: `writes ${path}, and another part writes ${other}` });
    written.push(path);
  };
  for (const [field, targets] of Object.entries(map)) {
    for (const { to } of listTargets(targets)) note(`map.${field}`, to);
  }
  for (const path of Object.keys(fixed)) note('fixed', path);
  return conflicts;
}

function requiredFields({ modality, features, media = {} }: MappedModel, when: RequestTraits): MappedField[] {
  const { durations } = media;
  const asked: [MappedField, boolean][] = [
    [modality === 'speech' ? 'input' : 'prompt', true],
    ['size', isChoice(media.sizes)],
    ['quality', isChoice(media.qualities)],
    ['style', isChoice(media.styles)],
    [
      'duration_seconds',
      durations !== undefined && !('min' in durations) ? isChoice(durations) : durations !== undefined,
    ],
    ['resolution', isChoice(media.resolutions)],
    ['aspect_ratio', isChoice(media.aspect_ratios)],
    ['audio', media.audio === 'optional'],
    ['image_url', media.first_frame === true && when.image !== false],
    ['end_image_url', media.last_frame === true && when.last_frame !== false],
    [
      'input_images',
      takesImages(modality, features, media) && when[modality === 'image' ? 'image' : 'references'] !== false,
    ],
    ['mask', features.mask === true && when.image !== false],
    ['format', isChoice(media.formats)],
    ['sample_rate', isChoice(media.sample_rates)],
    ['voice', isChoice(media.voices)],
  ];
  return asked.flatMap(([field, isAsked]) => (isAsked ? [field] : []));
}

function takesImages(modality: Modality, features: MappedModel['features'], media: MediaSupport): boolean {
  return media.references === true || (modality === 'image' && features.edit === true);
}

/** Whether there is a choice: a single value needs no field, because the upstream has no other. */
function isChoice(values: readonly unknown[] | undefined): boolean {
  return values !== undefined && values.length > 1;
}
