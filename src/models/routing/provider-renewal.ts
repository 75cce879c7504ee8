import { Injectable } from '@nestjs/common';
import { ModelCatalogService } from '../model-catalog.service';
import { ProvidersService } from '../../providers/providers.service';
import { HealthService } from './health.service';

/**
 * Resets the health of deployments when the credentials or base URL of their provider change: earlier failures no
 * longer apply, and a replaced key takes effect without waiting for the next probe.
 */
@Injectable()
export class ProviderRenewal {
  constructor(
    providers: ProvidersService,
    private readonly catalog: ModelCatalogService,
    private readonly health: HealthService,
  ) {
    providers.onChange((changedIds) => this.forgive(changedIds));
  }

  private async forgive(providerIds: ReadonlySet<string>): Promise<void> {
    const deployments = this.catalog.list().flatMap((model) => model.deployments);
    const changed = deployments.filter(({ provider, id }) => providerIds.has(provider) && this.health.isHeld(id));
    await Promise.all(changed.map(({ id }) => this.health.reset(id)));
  }
}
