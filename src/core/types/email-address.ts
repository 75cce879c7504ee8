import { GatewayError } from '../errors/gateway-error';

/**
 * Accepts only common addresses: ASCII without a quoted local part, so that none hides a header, a second recipient or
 * a look-alike. The API document has the same pattern.
 */
export const EMAIL_ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
export const MAX_EMAIL_LENGTH = 254;

/** An address as entered, and its normalized form for comparison. */
export interface EmailAddress {
  readonly email: string;
  readonly emailKey: string;
}

/** @throws GatewayError `validation_failed` naming `param`. */
export function parseEmailAddress(text: string, param = 'email'): EmailAddress {
  if (text.length > MAX_EMAIL_LENGTH || !EMAIL_ADDRESS.test(text)) {
    throw new GatewayError('validation_failed', `${param} must be an e-mail address.`, { param });
  }
  return { email: text, emailKey: text.toLowerCase() };
}
