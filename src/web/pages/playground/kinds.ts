import type { Model } from '../../../contract/dashboard';

/** The tabs of the playground, by the modality of their models. */
export const KINDS = [
  ['chat', 'Chat', 'text'],
  ['image', 'Image', 'image'],
  ['speech', 'Speech', 'speech'],
  ['transcription', 'Transcription', 'transcription'],
  ['video', 'Video', 'video'],
  ['music', 'Music', 'music'],
] as const satisfies ReadonlyArray<readonly [kind: string, label: string, modality: Model['modality']]>;

export type Kind = (typeof KINDS)[number][0];

export function isKind(text: string): text is Kind {
  return KINDS.some(([kind]) => kind === text);
}

/** The tab in which a model can be tried; undefined for embeddings. */
export function kindOf(modality: Model['modality']): Kind | undefined {
  return KINDS.find(([, , of]) => of === modality)?.[0];
}
