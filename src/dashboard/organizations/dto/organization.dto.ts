import { IsIn } from 'class-validator';
import { type Role, ROLES } from '../../../core/types/role';
import { CodePointLength } from '../../../core/validation/code-points';
import { IsEmailAddress, IsMailedToken } from '../../accounts/dto/account.dto';
import { PageQuery, QueryText, QueryTime, QueryUuid } from '../../../core/validation/query-fields';

/** The document's `OrganizationProfile`. */
export class OrganizationProfileDto {
  @CodePointLength(1, 200)
  name!: string;
}

/** The document's `MemberUpdate`. */
export class MemberUpdateDto {
  @IsIn(ROLES)
  role!: Role;
}

/** The document's `InvitationCreation`. */
export class InvitationCreationDto {
  @IsEmailAddress()
  email!: string;

  @IsIn(ROLES)
  role!: Role;
}

/** The document's `InvitationAcceptance`. */
export class InvitationAcceptanceDto {
  @IsMailedToken()
  token!: string;
}

/** The document's `InvitationPreviewRequest`. */
export class InvitationPreviewRequestDto {
  @IsMailedToken()
  token!: string;
}

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
