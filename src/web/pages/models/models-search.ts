import { MODEL_MODALITIES, type ModelModality } from '../../api/models';
import { oneOf, textOf } from '../../app/search-values';

export interface ModelsSearch {
  readonly q?: string;
  readonly modality?: ModelModality;
}

export function offeredModelsSearch({ q, modality }: Record<string, unknown>): ModelsSearch {
  return { q: textOf(q), modality: oneOf(modality, MODEL_MODALITIES) };
}
