import { IsNewPassword, IsPassword } from './account-fields';

/** Body of `POST /dashboard/api/me/password`: the document's `PasswordChange`. */
export class PasswordChangeDto {
  @IsPassword()
  current_password!: string;

  @IsNewPassword()
  new_password!: string;
}
