import { QueryUuid } from '../../../core/validation/query-fields';
import { AuditLogQuery } from '../../organizations/dto/organization.dto';

/** The query of `listOperatorAuditEntries`. */
export class OperatorAuditLogQuery extends AuditLogQuery {
  @QueryUuid()
  organization_id?: string;
}
