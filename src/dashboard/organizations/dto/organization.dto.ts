import { IsIn } from 'class-validator';
import { ROLES, type Role } from '../../../core/types/role';
import { CodePointLength } from '../../../core/validation/code-points';
import { IsEmailAddress, IsMailedToken } from '../../accounts/dto/account-fields';

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
