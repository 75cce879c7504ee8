import { Controller, Get, Query } from '@nestjs/common';
import { UsageSeriesService } from '../../billing/usage/usage-series.service';
import type { components } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import { toList, toPageRequest } from '../list';
import { type AuditLogEntry, AuditLogReader } from '../organizations/audit-log.reader';
import { toAuditEntry } from '../organizations/replies';
import { toPlatformSeriesReply } from '../usage/to-series-reply';
import { OperatorAuditLogQuery, OperatorUsageSeriesQuery } from './dto/operator-activity.dto';

type Schemas = components['schemas'];

/** Activity on the platform: its changes and its usage. */
@Controller('dashboard/api/operator')
export class OperatorActivityController {
  constructor(
    private readonly auditLog: AuditLogReader,
    private readonly usage: UsageSeriesService,
  ) {}

  @Get('audit-log')
  @Session('operator')
  async listOperatorAuditEntries(
    @Query(strictDto) query: OperatorAuditLogQuery,
  ): Promise<Schemas['OperatorAuditEntryList']> {
    const { organization_id: organizationId = null, action, actor: actorUserId, from, to } = query;
    const filter = { action, actorUserId, from, to };
    const page = await this.auditLog.pageForStaff(organizationId, filter, toPageRequest(query));
    return toList(page, toOperatorAuditEntry);
  }

  @Get('usage/series')
  @Session('operator')
  async getOperatorUsageSeries(
    @Query(strictDto) query: OperatorUsageSeriesQuery,
  ): Promise<Schemas['OperatorUsageSeries']> {
    const { from, to, interval = 'day', group_by: groupBy = 'none' } = query;
    return toPlatformSeriesReply(await this.usage.platformSeries({ from, to, interval, groupBy }));
  }
}

function toOperatorAuditEntry(entry: AuditLogEntry): Schemas['OperatorAuditEntry'] {
  const { actor, ...rest } = toAuditEntry(entry);
  return {
    ...rest,
    object: 'operator.audit_entry',
    organization_id: entry.organizationId,
    actor: { ...actor, name: entry.actorName },
  };
}
