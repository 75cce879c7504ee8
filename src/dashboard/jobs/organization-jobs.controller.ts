import { Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { requireUuid } from '../../core/types/require-uuid';
import { DEFAULT_PAGE_LIMIT } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { type OrganizationJob, OrganizationJobs } from '../../media-jobs/organization-jobs.service';
import { WebhookLogService } from '../../webhooks/webhook-log.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { toWebhookDelivery } from '../webhooks/webhook-replies';
import { toJobSummary } from './job-summary';
import { JobsQueryDto } from './jobs-query.dto';

type Schemas = components['schemas'];

/** Jobs of an organization, for its members. */
@Controller('dashboard/api/organizations/:organization_id/jobs')
export class OrganizationJobsController {
  constructor(
    private readonly jobs: OrganizationJobs,
    private readonly webhooks: WebhookLogService,
  ) {}

  @Get()
  @Session('viewer')
  async listJobs(
    @Caller() caller: DashboardCaller,
    @Query(strictDto) query: JobsQueryDto,
  ): Promise<Schemas['JobList']> {
    const { limit = DEFAULT_PAGE_LIMIT, cursor = null, key_id: keyId, ...filter } = query;
    const page = await this.jobs.list(requireOrganization(caller), { ...filter, keyId }, { limit, cursor });
    return { object: 'list', data: page.items.map(toJobSummary), next_cursor: page.nextCursor };
  }

  @Get(':job_id')
  @Session('viewer')
  async getOrganizationJob(
    @Caller() caller: DashboardCaller,
    @Param('job_id') id: string,
  ): Promise<Schemas['OrganizationJob']> {
    const organizationId = requireOrganization(caller);
    return this.show(organizationId, await this.jobs.get(organizationId, requireJobId(id)));
  }

  @Post(':job_id/cancel')
  @HttpCode(200)
  @Session('developer')
  async cancelJob(@Caller() caller: DashboardCaller, @Param('job_id') id: string): Promise<Schemas['OrganizationJob']> {
    const organizationId = requireOrganization(caller);
    return this.show(organizationId, await this.jobs.cancel(organizationId, requireJobId(id), caller.actor));
  }

  @Delete(':job_id')
  @HttpCode(204)
  @Session('developer')
  deleteJob(@Caller() caller: DashboardCaller, @Param('job_id') id: string): Promise<void> {
    return this.jobs.delete(requireOrganization(caller), requireJobId(id), caller.actor);
  }

  private async show(organizationId: string, { keyId, job }: OrganizationJob): Promise<Schemas['OrganizationJob']> {
    const deliveries = await this.webhooks.ofJob(organizationId, job.id);
    return {
      object: 'organization_job',
      key_id: keyId,
      job,
      webhook_deliveries: deliveries.map(toWebhookDelivery),
    };
  }
}

function requireJobId(text: string): string {
  return requireUuid(text, 'There is no such job.');
}
