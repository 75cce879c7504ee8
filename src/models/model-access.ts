import { GatewayError } from '../core/errors/gateway-error';
import { assertModalityAllowed, type Principal } from '../core/types/principal';
import type { CatalogModel } from './catalog-model';

type ModelIdentity = Pick<CatalogModel, 'id' | 'modality'>;

/**
 * Refuses a model that exists but is not allowed for this key.
 * @throws GatewayError `model_not_allowed` or `modality_not_allowed`, naming `param`.
 */
export function assertModelAllowed(principal: Principal, model: ModelIdentity, param = 'model'): void {
  if (!isIdAllowed(principal, model.id)) {
    throw new GatewayError('model_not_allowed', `This API key may not use the model ${model.id}.`, { param });
  }
  assertModalityAllowed(principal, model.modality, param);
}

/** Whether {@link assertModelAllowed} would pass. */
export function isModelAllowed(principal: Principal, model: ModelIdentity): boolean {
  return isIdAllowed(principal, model.id) && isModalityAllowed(principal, model);
}

/** Entries are whole ids, or `<vendor>/*` for all models of a vendor. An alias is not an entry: aliases may move. */
function isIdAllowed({ allowedModels }: Principal, id: string): boolean {
  if (allowedModels === null || allowedModels.has(id)) return true;
  return allowedModels.has(`${id.slice(0, id.indexOf('/'))}/*`);
}

function isModalityAllowed({ allowedModalities }: Principal, { modality }: ModelIdentity): boolean {
  return allowedModalities === null || allowedModalities.has(modality);
}
