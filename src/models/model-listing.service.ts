import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { isModalityGroup, MODALITIES, modalitiesOf, MODALITY_GROUPS, type Modality } from '../core/types/modality';
import { assertModelAllowed, isModelAllowed, type Principal } from '../core/types/request-context';
import type { CatalogModel, MediaSupport, Price, PriceVersion } from './catalog-model';
import { ModelCatalogService } from './model-catalog.service';
import type { ModelFeatures } from '../providers/contract/provider-call';

/** A model as `GET /v1/models` shows it. */
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
  readonly media?: MediaSupport;
  /** The list prices in force: integers in micro-units, of USD. */
  readonly pricing: Price;
}

export interface ModelListRecord {
  readonly object: 'list';
  readonly data: readonly ModelRecord[];
}

/** What a request is expected to cost: not how a vendor's own bill is charged. */
function listedPrice({ vendor_cost: _vendorCost, unit: _unit, megapixel: _megapixel, ...listed }: Price): Price {
  return listed;
}

function toModelRecord(model: CatalogModel, price: Price): ModelRecord {
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
    ...(model.media !== null && { media: model.media }),
    pricing: listedPrice(price),
  };
}

/** The catalogue as visible to a key. Records are built once per model and price, not per request. */
@Injectable()
export class ModelListingService {
  private readonly records = new WeakMap<CatalogModel, { price: PriceVersion; record: ModelRecord }>();

  constructor(
    private readonly catalog: ModelCatalogService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * The models that this key may use, sorted by id.
   * @param modality the raw filter of the query; `undefined`: all.
   * @throws GatewayError `validation_failed` for a modality that does not exist.
   */
  list(principal: Principal, modality: unknown): ModelListRecord {
    if (modality !== undefined && !isModalityGroup(modality)) {
      throw new GatewayError('validation_failed', `modality must be one of ${MODALITY_GROUPS.join(', ')}.`, {
        param: 'modality',
      });
    }
    const wanted = modality === undefined ? MODALITIES : modalitiesOf(modality);
    return this.listWhere((model) => wanted.includes(model.modality) && isModelAllowed(principal, model));
  }

  /** All models that are served, sorted by id. */
  listServed(): ModelListRecord {
    return this.listWhere(() => true);
  }

  /** @throws GatewayError `model_not_found`, `model_not_allowed` or `modality_not_allowed`, as a call would. */
  require(principal: Principal, name: string): ModelRecord {
    const model = this.catalog.require(name);
    assertModelAllowed(principal, model);
    const record = this.recordOf(model, this.clock.now());
    if (record === null) throw new GatewayError('model_not_found', `${model.id} has no price.`, { param: 'model' });
    return record;
  }

  private listWhere(isListed: (model: CatalogModel) => boolean): ModelListRecord {
    const nowMs = this.clock.now();
    const data = this.catalog
      .list()
      .filter(isListed)
      .flatMap((model) => this.recordOf(model, nowMs) ?? []);
    return { object: 'list', data };
  }

  /** Shows the price at the deployment that is tried first. */
  private recordOf(model: CatalogModel, nowMs: number): ModelRecord | null {
    const [deployment] = model.deployments;
    const price = deployment === undefined ? null : this.catalog.currentPrice(model, deployment, nowMs);
    if (price === null) return null;
    const cached = this.records.get(model);
    if (cached?.price === price) return cached.record;
    const record = toModelRecord(model, price.price);
    this.records.set(model, { price, record });
    return record;
  }
}
