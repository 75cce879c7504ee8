import { Injectable } from '@nestjs/common';
import { ModelCatalogService } from '../models/model-catalog.service';
import { ProvidersService } from '../providers/providers.service';
import { HealthService } from './health.service';

/**
 * What a deployment has done wrong with other credentials, or at another address, says nothing about it now: whoever has
 * replaced a wrong key need not wait until somebody tries again.
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
