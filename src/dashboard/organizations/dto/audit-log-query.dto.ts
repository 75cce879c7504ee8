import { PageQuery, QueryText, QueryTime, QueryUuid } from '../../../core/validation/query-fields';

/** The query of `listAuditEntries`. */
export class AuditLogQuery extends PageQuery {
  @QueryText({ max: 100 })
  action?: string;

  @QueryUuid()
  actor?: string;

  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;
}
