import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { isModalityGroup, MODALITIES, modalitiesOf, MODALITY_GROUPS } from '../core/types/modality';
import type { Principal } from '../core/types/principal';
import type { CatalogModel, PriceVersion } from './catalog-model';
import { assertModelAllowed, isModelAllowed } from './model-access';
import { ModelCatalogService } from './model-catalog.service';
import { type ModelListRecord, type ModelRecord, toModelRecord } from './model-record';

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
    const nowMs = this.clock.now();
    const data = this.catalog
      .list()
      .filter((model) => wanted.includes(model.modality) && isModelAllowed(principal, model))
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
