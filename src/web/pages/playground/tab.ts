import type { Model } from '../../../contract/dashboard';

export interface TabProps {
  /** Served models of the tab's modality. */
  readonly models: readonly [Model, ...Model[]];
  /** The model that a link named. */
  readonly chosen: string | undefined;
}

/** The model with the id, else the one that a link named, else the first. */
export function modelOf({ models, chosen }: TabProps, id: string): Model {
  return models.find((model) => model.id === (id === '' ? chosen : id)) ?? models[0];
}
