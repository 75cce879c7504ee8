import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { CatalogAdminService, type DecidedDeployment } from '../catalog-admin.service';
import { type ProviderStanding, ProvidersService } from '../../providers/providers.service';
import { type DeploymentReport, HealthService } from './health.service';

export interface ProviderReport extends ProviderStanding {
  readonly deployments: readonly { readonly deployment: DecidedDeployment; readonly report: DeploymentReport }[];
}

/** Reports the health of providers to operators, and resets breakers. */
@Injectable()
export class ProviderAdminService {
  constructor(
    private readonly providers: ProvidersService,
    private readonly catalog: CatalogAdminService,
    private readonly health: HealthService,
    private readonly dataSource: DataSource,
  ) {}

  /** Every provider of this build with the deployments of the catalogue that run on it. */
  async list(): Promise<ProviderReport[]> {
    const deployments = (await this.catalog.listModels()).flatMap((model) => model.deployments);
    const reports = await this.health.describe(deployments.map(({ row }) => row.id));
    const joined = deployments.map((deployment, at) => ({ deployment, report: reports[at] as DeploymentReport }));
    return this.providers.describe().map((standing) => ({
      ...standing,
      deployments: joined.filter(({ deployment }) => deployment.row.provider === standing.id),
    }));
  }

  /**
   * Clears the breaker and cool-down of a deployment. Audited first, because the change in Redis cannot be rolled back.
   * @throws GatewayError `not_found`.
   */
  async resetBreaker(deploymentId: string, actor: Actor): Promise<DeploymentReport> {
    await this.catalog.requireDeployment(deploymentId);
    const [before] = await this.health.describe([deploymentId]);
    await this.dataSource.transaction((manager) =>
      recordAudit(manager, {
        organizationId: null,
        actor,
        action: 'deployment.breaker_reset',
        target: { type: 'deployment', id: deploymentId },
        before: { state: before?.state, shared_state: before?.sharedState },
        after: { state: 'closed', shared_state: 'closed' },
      }),
    );
    await this.health.reset(deploymentId);
    const [after] = await this.health.describe([deploymentId]);
    return after as DeploymentReport;
  }
}
