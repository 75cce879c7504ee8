import { IsOptional, Matches } from 'class-validator';
import { EMAIL_ADDRESS, MAX_EMAIL_LENGTH } from '../../../core/types/email-address';
import { CodePointLength } from '../../../core/validation/code-points';

/** The document's `EmailAddress`. */
export function IsEmailAddress(): PropertyDecorator {
  const isShort = CodePointLength(1, MAX_EMAIL_LENGTH);
  const isAddress = Matches(EMAIL_ADDRESS, { message: '$property must be an e-mail address' });
  return (target, property) => {
    isAddress(target, property);
    isShort(target, property);
  };
}

/** The document's `NewPassword`; `parseNewPassword` refuses common ones. */
const IsNewPassword = (): PropertyDecorator => CodePointLength(8, 128);

/** The document's `Password`. */
const IsPassword = (): PropertyDecorator => CodePointLength(1, 512);

/** The document's `MailedToken`. */
export const IsMailedToken = (): PropertyDecorator => CodePointLength(1, 200);

/** The document's `PersonName`. */
const IsPersonName = (): PropertyDecorator => CodePointLength(1, 200);

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

/** Body of `POST /dashboard/api/email-verifications/confirm`: the document's `EmailConfirmation`. */
export class EmailConfirmationDto {
  @IsMailedToken()
  token!: string;
}

/** Requests a mail: the document's `EmailRequest`. */
export class EmailRequestDto {
  @IsEmailAddress()
  email!: string;
}

/** Body of `POST /dashboard/api/login`: the document's `LoginRequest`. */
export class LoginRequestDto {
  @IsEmailAddress()
  email!: string;

  @IsPassword()
  password!: string;
}

/** Body of `POST /dashboard/api/me/password`: the document's `PasswordChange`. */
export class PasswordChangeDto {
  @IsPassword()
  current_password!: string;

  @IsNewPassword()
  new_password!: string;
}

/** Body of `POST /dashboard/api/password-resets/confirm`: the document's `PasswordResetConfirmation`. */
export class PasswordResetConfirmationDto {
  @IsMailedToken()
  token!: string;

  @IsNewPassword()
  password!: string;
}

/** Body of `PATCH /dashboard/api/me`: the document's `UserUpdate`. */
export class UserUpdateDto {
  @IsPersonName()
  name!: string;
}
