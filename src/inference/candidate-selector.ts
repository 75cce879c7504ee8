import { Inject, Injectable } from '@nestjs/common';
import { compilePrice, type CompiledPrice } from '../billing/pricing/price';
import { CLOCK, type Clock } from '../core/time/clock';
import type { CatalogModel, PriceVersion } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import { ProvidersService } from '../providers/providers.service';
import { HealthService } from '../models/routing/health.service';
import type { Candidate } from './inference.types';

/**
 * The deployments that can serve a model, best priority first. The array is cached until the catalogue snapshot or a price
 * changes.
 */
@Injectable()
export class CandidateSelector {
  private readonly compiledPrices = new WeakMap<PriceVersion, CompiledPrice>();
  private readonly candidates = new WeakMap<CatalogModel, readonly Candidate[]>();

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly providers: ProvidersService,
    private readonly health: HealthService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Empty when no deployment of the model can be called. */
  select(model: CatalogModel): readonly Candidate[] {
    const known = this.candidates.get(model);
    if (known !== undefined && this.areCurrent(model, known)) return known;
    const selected = this.build(model);
    // An empty list is not cached: `areCurrent` could not detect a price that comes into force.
    if (selected.length > 0) this.candidates.set(model, selected);
    return selected;
  }

  private areCurrent(model: CatalogModel, candidates: readonly Candidate[]): boolean {
    const nowMs = this.clock.now();
    return candidates.every(
      ({ deployment, priceVersion }) => this.catalog.currentPrice(model, deployment, nowMs) === priceVersion,
    );
  }

  private build(model: CatalogModel): readonly Candidate[] {
    const nowMs = this.clock.now();
    const selected: Candidate[] = [];
    for (const deployment of model.deployments) {
      const provider = this.providers.get(deployment.provider);
      const priceVersion = this.catalog.currentPrice(model, deployment, nowMs);
      if (provider === undefined || priceVersion === null) continue;
      selected.push({
        model,
        deployment,
        provider,
        priceVersion,
        price: this.compile(priceVersion),
        features: model.features,
        quirks: { ...provider.quirks, ...deployment.quirks },
        health: this.health.healthOf(deployment.id),
        load: this.health.loadOf(provider.id),
      });
    }
    return selected;
  }

  private compile(version: PriceVersion): CompiledPrice {
    let compiled = this.compiledPrices.get(version);
    if (compiled === undefined) {
      compiled = compilePrice(version.price);
      this.compiledPrices.set(version, compiled);
    }
    return compiled;
  }
}
