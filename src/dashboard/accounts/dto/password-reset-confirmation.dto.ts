import { IsMailedToken, IsNewPassword } from './account-fields';

/** Body of `POST /dashboard/api/password-resets/confirm`: the document's `PasswordResetConfirmation`. */
export class PasswordResetConfirmationDto {
  @IsMailedToken()
  token!: string;

  @IsNewPassword()
  password!: string;
}
