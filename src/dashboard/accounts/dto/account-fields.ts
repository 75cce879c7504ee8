import { Matches } from 'class-validator';
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
export const IsNewPassword = (): PropertyDecorator => CodePointLength(8, 128);

/** The document's `Password`. */
export const IsPassword = (): PropertyDecorator => CodePointLength(1, 512);

/** The document's `MailedToken`. */
export const IsMailedToken = (): PropertyDecorator => CodePointLength(1, 200);

/** The document's `PersonName`. */
export const IsPersonName = (): PropertyDecorator => CodePointLength(1, 200);
