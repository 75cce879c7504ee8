/** The kind of a model; the contract's `modality`. */
export const MODALITIES = ['text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music'] as const;

export type Modality = (typeof MODALITIES)[number];

/** The modalities that each word of a key's `allowed_modalities` or a `modality` filter covers. */
const COVERED_MODALITIES = {
  text: ['text', 'embedding'],
  audio: ['speech', 'transcription'],
  image: ['image'],
  video: ['video'],
  music: ['music'],
  embedding: ['embedding'],
  speech: ['speech'],
  transcription: ['transcription'],
} as const satisfies Readonly<Record<string, readonly Modality[]>>;

export type ModalityGroup = keyof typeof COVERED_MODALITIES;

export const MODALITY_GROUPS = Object.keys(COVERED_MODALITIES) as readonly ModalityGroup[];

export function isModalityGroup(value: unknown): value is ModalityGroup {
  return typeof value === 'string' && Object.hasOwn(COVERED_MODALITIES, value);
}

export function modalitiesOf(group: ModalityGroup): readonly Modality[] {
  return COVERED_MODALITIES[group];
}
