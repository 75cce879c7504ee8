import { IsEmailAddress, IsPassword } from './account-fields';

/** Body of `POST /dashboard/api/login`: the document's `LoginRequest`. */
export class LoginRequestDto {
  @IsEmailAddress()
  email!: string;

  @IsPassword()
  password!: string;
}
