import { type PlatformGrouping, PLATFORM_GROUPINGS } from '../../../billing/usage/usage-series.service';
import type { Span } from '../../../billing/usage/usage-totals.repository';
import { QueryOneOf, QueryTime, QueryUuid } from '../../../core/validation/query-fields';
import { AuditLogQuery } from '../../organizations/dto/organization.dto';

/** The query of `listOperatorAuditEntries`. */
export class OperatorAuditLogQuery extends AuditLogQuery {
  @QueryUuid()
  organization_id?: string;
}

/** The query of `getOperatorUsageSeries`. */
export class OperatorUsageSeriesQuery {
  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;

  @QueryOneOf(['hour', 'day'])
  interval?: Span;

  @QueryOneOf(PLATFORM_GROUPINGS)
  group_by?: PlatformGrouping;
}
