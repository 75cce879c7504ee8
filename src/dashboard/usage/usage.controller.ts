import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../../core/http/answer';
import { DEFAULT_PAGE_LIMIT } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { UsageReceipt, UsageRequestList, UsageSeries } from '../../contract/dashboard';
import { RequestLogService } from '../../billing/usage/request-log.service';
import { UsageSeriesService } from '../../billing/usage/usage-series.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { RequestFilterQuery, RequestListQuery, toFilter, UsageSeriesQuery } from './dto/usage-queries.dto';
import { requestsCsv } from './requests-csv';
import { toReceiptReply } from './to-receipt-reply';
import { toRequestReply } from './to-request-reply';
import { toSeriesReply } from './to-series-reply';

const EXPORT_PAGE = 1_000;

/** Usage of an organization: requests, receipts and time series. */
@Controller('dashboard/api/organizations/:organization_id/usage')
export class UsageController {
  constructor(
    private readonly requests: RequestLogService,
    private readonly usage: UsageSeriesService,
  ) {}

  @Get('requests')
  @Session('viewer')
  async listRequests(
    @Caller() caller: DashboardCaller,
    @Query(strictDto) query: RequestListQuery,
  ): Promise<UsageRequestList> {
    const { cursor = null, limit = DEFAULT_PAGE_LIMIT } = query;
    const page = await this.requests.list(requireOrganization(caller), toFilter(query), cursor, limit);
    return { object: 'list', data: page.requests.map(toRequestReply), next_cursor: page.nextCursor };
  }

  @Get('requests/:request_id')
  @Session('viewer')
  async getRequest(@Caller() caller: DashboardCaller, @Param('request_id') id: string): Promise<UsageReceipt> {
    return toReceiptReply(await this.requests.receipt(requireOrganization(caller), id));
  }

  @Get('requests.csv')
  @Session('viewer')
  exportRequests(
    @Caller() caller: DashboardCaller,
    @Query(strictDto) query: RequestFilterQuery,
    @Req() { method }: FastifyRequest,
  ): Promise<Answer> {
    return requestsCsv(this.requests.pages(requireOrganization(caller), toFilter(query), EXPORT_PAGE), method);
  }

  @Get('series')
  @Session('viewer')
  async getUsageSeries(
    @Caller() caller: DashboardCaller,
    @Query(strictDto) query: UsageSeriesQuery,
  ): Promise<UsageSeries> {
    const { from, to, interval = 'day', group_by: groupBy = 'none', model, key_id: keyId } = query;
    const series = await this.usage.series(requireOrganization(caller), { from, to, interval, groupBy, model, keyId });
    return toSeriesReply(series);
  }
}
