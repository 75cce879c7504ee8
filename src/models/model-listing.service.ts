import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { MODALITIES } from '../common/modality';
import type { Principal } from '../common/principal';
import type { CatalogModel, PriceVersion } from './catalog-model';
import { assertModelAllowed, isModelAllowed } from './model-access';
import { ModelCatalogService } from './model-catalog.service';
import { type ModelListRecord, type ModelRecord, toModelRecord } from './model-record';

/** What a key may know of the catalogue. Records are made once per model and price, not per request. */
@Injectable()
export class ModelListingService {
  private readonly records = new WeakMap<CatalogModel, { price: PriceVersion; record: ModelRecord }>();

  constructor(
    private readonly catalog: ModelCatalogService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * The models that this key may use, sorted by id.
   * @param modality the query's filter as it came, `undefined` for all.
   * @throws GatewayError `validation_failed` for a modality that does not exist.
   */
  list(principal: Principal, modality: unknown): ModelListRecord {
    const known: readonly unknown[] = MODALITIES;
    if (modality !== undefined && !known.includes(modality)) {
      throw new GatewayError('validation_failed', `modality must be one of ${MODALITIES.join(', ')}.`, {
        param: 'modality',
      });
    }
    const nowMs = this.clock.now();
    const data = this.catalog
      .list()
      .filter((model) => (modality === undefined || model.modality === modality) && isModelAllowed(principal, model))
      .flatMap((model) => this.recordOf(model, nowMs) ?? []);
    return { object: 'list', data };
  }

  /** @throws GatewayError `model_not_found`, `model_not_allowed` or `modality_not_allowed`, as a call would. */
  require(principal: Principal, name: string): ModelRecord {
    const model = this.catalog.require(name);
    assertModelAllowed(principal, model);
    const record = this.recordOf(model, this.clock.now());
    if (record === null) throw new GatewayError('model_not_found', `${model.id} has no price.`, { param: 'model' });
    return record;
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
