import type { Modality } from '../core/types/modality';
import type { ModelFeatures } from '../providers/contract/provider-call';
import type { CatalogModel, Price } from './catalog-model';

/** A model as `GET /v1/models` shows it: decision *model-record*. */
export interface ModelRecord {
  readonly id: string;
  readonly object: 'model';
  /** Unix seconds. */
  readonly created: number;
  readonly owned_by: string;
  readonly modality: Modality;
  readonly name: string;
  readonly context_length?: number;
  readonly max_output_tokens?: number;
  readonly input_modalities: readonly string[];
  readonly output_modalities: readonly string[];
  readonly features: ModelFeatures;
  /** The list prices in force: integers in micro-units, of USD (decision *currency*). */
  readonly pricing: Price;
}

export interface ModelListRecord {
  readonly object: 'list';
  readonly data: readonly ModelRecord[];
}

export function toModelRecord(model: CatalogModel, price: Price): ModelRecord {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAt,
    owned_by: model.id.slice(0, model.id.indexOf('/')),
    modality: model.modality,
    name: model.displayName,
    ...(model.contextLength !== null && { context_length: model.contextLength }),
    ...(model.maxOutputTokens !== null && { max_output_tokens: model.maxOutputTokens }),
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    features: model.features,
    pricing: price,
  };
}
