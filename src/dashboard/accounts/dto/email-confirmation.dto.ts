import { IsMailedToken } from './account-fields';

/** Body of `POST /dashboard/api/email-verifications/confirm`: the document's `EmailConfirmation`. */
export class EmailConfirmationDto {
  @IsMailedToken()
  token!: string;
}
