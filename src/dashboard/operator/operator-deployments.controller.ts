import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { requireUuid } from '../../core/types/require-uuid';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { CatalogAdminService } from '../../models/catalog-admin.service';
import { ProviderAdminService } from '../../models/routing/provider-admin.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { toDeploymentRecord } from './catalog-record';
import { DeploymentsQuery, DeploymentUpdateDto } from './dto/catalog.dto';
import { toHealthRecord } from './health-record';

type Schemas = components['schemas'];

@Controller('dashboard/api/operator/deployments')
export class OperatorDeploymentsController {
  constructor(
    private readonly catalog: CatalogAdminService,
    private readonly providers: ProviderAdminService,
  ) {}

  @Get()
  @Session('operator')
  async listDeployments(@Query(strictDto) { model }: DeploymentsQuery): Promise<Schemas['DeploymentList']> {
    const models = (await this.catalog.listModels()).filter(({ row }) => model === undefined || row.id === model);
    const data = models.flatMap(({ deployments }) => deployments.map(toDeploymentRecord));
    return { object: 'list', data, next_cursor: null };
  }

  @Patch(':deployment_id')
  @Session('operator')
  async updateDeployment(
    @Param('deployment_id') deploymentId: string,
    @Body(strictDto) body: DeploymentUpdateDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['Deployment']> {
    return toDeploymentRecord(await this.catalog.updateDeployment(requireId(deploymentId), body, actor));
  }

  @Post(':deployment_id/reset-breaker')
  @HttpCode(200)
  @Session('operator')
  async resetBreaker(
    @Param('deployment_id') deploymentId: string,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['DeploymentHealth']> {
    return toHealthRecord(await this.providers.resetBreaker(requireId(deploymentId), actor));
  }
}

function requireId(deploymentId: string): string {
  return requireUuid(deploymentId, 'There is no such deployment.');
}
