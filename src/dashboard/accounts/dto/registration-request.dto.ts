import { IsOptional } from 'class-validator';
import { IsEmailAddress, IsMailedToken, IsNewPassword, IsPersonName } from './account-fields';

/** Body of `POST /dashboard/api/register`: the document's `RegistrationRequest`. */
export class RegistrationRequestDto {
  @IsEmailAddress()
  email!: string;

  @IsNewPassword()
  password!: string;

  @IsPersonName()
  name!: string;

  @IsOptional()
  @IsPersonName()
  organization_name?: string | null;

  @IsOptional()
  @IsMailedToken()
  invitation_token?: string | null;
}
