import { MODALITY_GROUPS, type ModalityGroup } from '../../../core/types/modality';
import { QueryInteger, QueryOneOf, QueryText, QueryTime, QueryUuid } from '../../../core/validation/query-fields';
import { type Operation, OPERATIONS } from '../../../billing/usage/operations';
import { type Grouping, GROUPINGS } from '../../../billing/usage/usage-series.service';
import type { RequestFilter, RequestStatus } from '../../../billing/usage/usage.types';
import type { Span } from '../../../billing/usage/usage-totals.repository';

export class RequestFilterQuery {
  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;

  @QueryUuid()
  key_id?: string;

  @QueryText({ max: 200 })
  model?: string;

  @QueryOneOf(['success', 'error'])
  status?: RequestStatus;

  @QueryOneOf(MODALITY_GROUPS)
  modality?: ModalityGroup;

  @QueryOneOf(OPERATIONS)
  operation?: Operation;

  @QueryText({ max: 64 })
  error_code?: string;

  @QueryText({ max: 100 })
  provider?: string;

  @QueryInteger({ min: 0, max: 1_000_000_000_000 })
  min_cost_micro?: number;

  @QueryInteger({ min: 0, max: 2_147_483_647 })
  min_total_ms?: number;
}

export class RequestListQuery extends RequestFilterQuery {
  @QueryInteger({ min: 1, max: 100 })
  limit?: number;

  @QueryText({ max: 200 })
  cursor?: string;
}

export class UsageSeriesQuery {
  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;

  @QueryOneOf(['hour', 'day'])
  interval?: Span;

  @QueryOneOf(GROUPINGS)
  group_by?: Grouping;

  @QueryText({ max: 200 })
  model?: string;

  @QueryUuid()
  key_id?: string;
}

export function toFilter(query: RequestFilterQuery): RequestFilter {
  const { from, to, model, status, modality, operation, provider, min_cost_micro: minCost } = query;
  return {
    from,
    to,
    keyId: query.key_id,
    model,
    status,
    modality,
    operation,
    errorCode: query.error_code,
    provider,
    minCostMicro: minCost === undefined ? undefined : BigInt(minCost),
    minTotalMs: query.min_total_ms,
  };
}
