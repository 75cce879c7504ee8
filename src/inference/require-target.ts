import { GatewayError } from '../common/errors/gateway-error';
import type { Modality } from '../common/modality';
import type { Principal } from '../common/principal';
import { type RequestContext, requirePrincipal } from '../common/request-context';
import { assertModelAllowed } from '../models/model-access';
import type { CatalogModel } from '../models/catalog-model';
import type { ModelCatalogService } from '../models/model-catalog.service';
import type { RoutingDto } from '../routing/routing.dto';
import type { InferenceInput } from './inference.types';

/** What every inference request says of itself. */
interface TargetedBody {
  readonly model: string;
  readonly routing?: RoutingDto | null;
}

export type InferenceTarget = Pick<
  InferenceInput,
  'model' | 'fallbacks' | 'principal' | 'context' | 'routing' | 'body'
>;

const NO_FALLBACKS: readonly CatalogModel[] = [];

/**
 * The model that a request asks for and those that may stand in for it, once it is clear that they exist, that this key
 * may use them, and that they do this kind of work: before anything is looked up that another key may have been answered.
 * @throws GatewayError `model_not_found`, `model_not_allowed`, `modality_not_allowed`; `validation_failed` for a model of
 * another modality
 */
export function requireTarget(
  catalog: ModelCatalogService,
  context: RequestContext,
  body: TargetedBody,
  modality: Modality,
): InferenceTarget {
  const principal = requirePrincipal(context);
  const model = catalog.require(body.model);
  assertModelAllowed(principal, model);
  if (model.modality !== modality) {
    const article = modality === 'embedding' || modality === 'image' ? 'an' : 'a';
    throw new GatewayError('validation_failed', `${model.id} is not ${article} ${modality} model.`, { param: 'model' });
  }
  const routing = body.routing ?? null;
  const names = routing?.models;
  const fallbacks = names == null ? NO_FALLBACKS : requireFallbacks(catalog, principal, model, names);
  return { model, fallbacks, principal, context, routing, body };
}

/** The models that the request names beside its own, each once. */
function requireFallbacks(
  catalog: ModelCatalogService,
  principal: Principal,
  model: CatalogModel,
  names: readonly string[],
): readonly CatalogModel[] {
  const fallbacks = new Set<CatalogModel>();
  names.forEach((name, index) => {
    const param = `routing.models[${index}]`;
    const fallback = catalog.require(name, param);
    assertModelAllowed(principal, fallback, param);
    if (fallback.modality !== model.modality) {
      const message = `${fallback.id} cannot stand in for ${model.id}: it is not a ${model.modality} model.`;
      throw new GatewayError('validation_failed', message, { param });
    }
    if (fallback !== model) fallbacks.add(fallback);
  });
  return [...fallbacks];
}
