import { GatewayError } from '../../core/errors/gateway-error';
import { countCodePoints } from '../../core/validation/code-points';
import { isCommonPassword } from './common-passwords';

const MIN_PASSWORD_LENGTH = 8;
const MAX_PASSWORD_LENGTH = 128;

/** NFKC, because keyboards encode the same letter in different ways. */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

/**
 * Validates and normalizes a new password. There are no composition rules: they make passwords similar, not strong.
 * @throws GatewayError `validation_failed` naming `param`.
 */
export function parseNewPassword(text: string, param = 'password'): string {
  const password = normalizePassword(text);
  const length = countCodePoints(password);
  if (length < MIN_PASSWORD_LENGTH || length > MAX_PASSWORD_LENGTH || /[\0\p{Cs}]/u.test(password)) {
    throw refusal(param, `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`);
  }
  if (new Set(password.toLowerCase()).size === 1) throw refusal(param, 'must not be one character repeated');
  if (isCommonPassword(password)) throw refusal(param, 'is too common');
  return password;
}

function refusal(param: string, rule: string): GatewayError {
  return new GatewayError('validation_failed', `${param} ${rule}.`, { param });
}
