import { GatewayError } from '../core/errors/gateway-error';
import type { Modality } from '../core/types/modality';
import {
  assertModelAllowed,
  type Principal,
  type RequestContext,
  requirePrincipal,
} from '../core/types/request-context';
import type { CatalogModel } from '../models/catalog-model';
import type { ModelCatalogService } from '../models/model-catalog.service';
import type { RoutingDto } from '../models/routing/routing.dto';
import type { InferenceInput } from './inference.types';

/** The fields that every inference request has. */
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
 * Resolves the requested model and its fallbacks, and checks that they exist, that the key may use them, and that they
 * have this modality. Runs before the idempotency look-up, which may find the response of another key.
 * @throws GatewayError `model_not_found`, `model_not_allowed`, `modality_not_allowed`; `validation_failed` for a model
 * of another modality
 */
export function requireTarget(
  catalog: ModelCatalogService,
  context: RequestContext,
  body: TargetedBody,
  modality: Modality,
): InferenceTarget {
  const principal = requirePrincipal(context);
  const model = catalog.require(body.model);
  context.modelId = model.id;
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

/** The fallback models of the request, without duplicates. */
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
      const message = `${fallback.id} cannot be a fallback for ${model.id}: it is not a ${model.modality} model.`;
      throw new GatewayError('validation_failed', message, { param });
    }
    if (fallback !== model) fallbacks.add(fallback);
  });
  return [...fallbacks];
}

/**
 * The fields of a validated body that are sent to providers, without gateway-only fields and without nulls, which mean
 * absent but which some upstreams reject. Copies the body only when a field is dropped.
 */
export function providerFields<Body extends object>(body: Body): Body {
  for (const field in body) {
    if (isGatewayOnly(field, body[field])) {
      return Object.fromEntries(Object.entries(body).filter(([name, value]) => !isGatewayOnly(name, value))) as Body;
    }
  }
  return body;
}

function isGatewayOnly(field: string, value: unknown): boolean {
  return value === null || field === 'routing' || field.startsWith('x_');
}
