import type { Model } from '../../../contract/dashboard';
import { oneOf, textOf } from '../../app/search-values';

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
  return { q: textOf(q), modality: oneOf(modality, MODALITIES) };
}
