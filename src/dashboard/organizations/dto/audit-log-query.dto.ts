import { PageQuery, QueryText, QueryTime, QueryUuid } from '../../../core/validation/valid-query.pipe';

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
