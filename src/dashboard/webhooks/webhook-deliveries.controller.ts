import { Body, Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { redeliveryLogOf } from '../accounts/attempt-logs';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { requireUuid } from '../../core/types/require-uuid';
import { DEFAULT_PAGE_LIMIT } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { NO_DELIVERY, WebhookLogService } from '../../webhooks/webhook-log.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { DeliveriesQueryDto } from './deliveries-query.dto';
import { TestWebhookRequestDto } from './test-webhook-request.dto';
import { toWebhookAttempt, toWebhookDelivery } from './webhook-replies';

type Schemas = components['schemas'];

@Controller('dashboard/api/organizations/:organization_id')
export class WebhookDeliveriesController {
  constructor(
    private readonly webhooks: WebhookLogService,
    private readonly throttle: AttemptThrottle,
  ) {}

  @Get('webhook-deliveries')
  @Session('viewer')
  async listWebhookDeliveries(
    @Caller() caller: DashboardCaller,
    @Query(strictDto) query: DeliveriesQueryDto,
  ): Promise<Schemas['WebhookDeliveryList']> {
    const { limit = DEFAULT_PAGE_LIMIT, cursor = null, job_id: jobId, ...filter } = query;
    const page = await this.webhooks.list(requireOrganization(caller), { ...filter, jobId }, { limit, cursor });
    return { object: 'list', data: page.items.map(toWebhookDelivery), next_cursor: page.nextCursor };
  }

  @Get('webhook-deliveries/:delivery_id')
  @Session('viewer')
  async getWebhookDelivery(
    @Caller() caller: DashboardCaller,
    @Param('delivery_id') id: string,
  ): Promise<Schemas['WebhookDeliveryDetail']> {
    const { log, ...delivery } = await this.webhooks.get(requireOrganization(caller), requireUuid(id, NO_DELIVERY));
    return {
      object: 'webhook_delivery_detail',
      delivery: toWebhookDelivery(delivery),
      attempts: log.map(toWebhookAttempt),
    };
  }

  @Post('webhook-deliveries/:delivery_id/redeliver')
  @HttpCode(200)
  @Session('developer')
  async redeliverWebhook(
    @Caller() caller: DashboardCaller,
    @Param('delivery_id') id: string,
  ): Promise<Schemas['WebhookDelivery']> {
    const organizationId = requireOrganization(caller);
    const deliveryId = requireUuid(id, NO_DELIVERY);
    await this.throttle.take([redeliveryLogOf(organizationId)]);
    return toWebhookDelivery(await this.webhooks.redeliver(organizationId, deliveryId, caller.actor));
  }

  @Post('webhook-test-events')
  @HttpCode(202)
  @Session('developer')
  async sendTestWebhook(
    @Caller() caller: DashboardCaller,
    @Body(strictDto) { url }: TestWebhookRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Schemas['WebhookDelivery']> {
    const organizationId = requireOrganization(caller);
    return toWebhookDelivery(await this.webhooks.sendTest(organizationId, url, context.id, caller.actor));
  }
}
