import { GatewayError } from '../common/errors/gateway-error';
import { countCodePoints } from '../common/validation/code-points';
import { isCommonPassword } from './common-passwords';

export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 128;

/** One spelling for passwords that look the same: keyboards differ in how they write one letter (NFKC). */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

/**
 * A password that may be set, normalized. There are no rules of composition: they make passwords alike, not strong.
 * @throws GatewayError `validation_failed` naming `param`.
 */
export function parseNewPassword(text: string, param = 'password'): string {
  const password = normalizePassword(text);
  const length = countCodePoints(password);
  if (length < MIN_PASSWORD_LENGTH || length > MAX_PASSWORD_LENGTH || /[\0\p{Cs}]/u.test(password)) {
    throw refusal(param, `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`);
  }
  if (isCommonPassword(password)) throw refusal(param, 'is one of the passwords that everybody tries first');
  return password;
}

function refusal(param: string, rule: string): GatewayError {
  return new GatewayError('validation_failed', `${param} ${rule}.`, { param });
}
