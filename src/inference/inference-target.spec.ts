import { GatewayError } from '../core/errors/gateway-error';
import type { RequestContext } from '../core/types/request-context';
import type { CatalogModel } from '../models/catalog-model';
import type { ModelCatalogService } from '../models/model-catalog.service';
import type { RoutingDto } from '../models/routing/routing.dto';
import { requireTarget } from './inference-target';

const MODALITIES: Readonly<Record<string, string>> = {
  'v/one': 'text',
  'v/two': 'text',
  'v/three': 'text',
  'v/secret': 'text',
  'v/image': 'image',
};
const models = new Map(Object.entries(MODALITIES).map(([id, modality]) => [id, { id, modality } as CatalogModel]));

const catalog = {
  require: (name: string, param = 'model') => {
    const found = models.get(name);
    if (found === undefined) throw new GatewayError('model_not_found', name, { param });
    return found;
  },
} as unknown as ModelCatalogService;
const context = {
  principal: { allowedModels: new Set(['v/one', 'v/two', 'v/three', 'v/image']), allowedModalities: null },
} as unknown as RequestContext;

const fallbacksOf = (routing: RoutingDto | null): string[] =>
  requireTarget(catalog, context, { model: 'v/one', routing }, 'text').fallbacks.map(({ id }) => id);

describe('requireTarget fallbacks', () => {
  it('are empty when the request names none', () => {
    for (const routing of [null, {}, { models: null }, { models: [] }]) expect(fallbacksOf(routing)).toEqual([]);
  });

  it('keep the order and drop duplicates and the requested model', () => {
    expect(fallbacksOf({ models: ['v/three', 'v/one', 'v/two', 'v/three'] })).toEqual(['v/three', 'v/two']);
  });

  it.each<[string, string, string]>([
    ['that does not exist', 'v/none', 'model_not_found'],
    ['that the key may not use', 'v/secret', 'model_not_allowed'],
    ['of another kind', 'v/image', 'validation_failed'],
  ])('reject a model %s', (_case, name, code) => {
    const refused: unknown = expect.objectContaining({ code, param: 'routing.models[1]' });
    expect(() => fallbacksOf({ models: ['v/two', name] })).toThrow(refused as Error);
  });
});
