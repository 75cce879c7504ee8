import type { Model } from '../../../contract/dashboard';

type Modality = Model['modality'];

export const MODALITIES = [
  'text',
  'embedding',
  'image',
  'speech',
  'transcription',
  'video',
  'music',
] as const satisfies readonly Modality[];

export interface ModelsSearch {
  readonly q?: string;
  readonly modality?: Modality;
}

export function offeredModelsSearch({ q, modality }: Record<string, unknown>): ModelsSearch {
  const known = MODALITIES.find((each) => each === modality);
  return {
    ...(typeof q === 'string' && q !== '' && { q }),
    ...(known !== undefined && { modality: known }),
  };
}
