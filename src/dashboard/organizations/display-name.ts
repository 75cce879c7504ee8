import { GatewayError } from '../../core/errors/gateway-error';
import { parseName } from '../../auth/api-keys/api-key-settings';

/**
 * Text that mail programs render as a link: a scheme, `www.`, or a host name. The last label is lower case, so that
 * initials such as `J.Smith` pass.
 */
const WEB_ADDRESS = /:\/\/|\bwww\.|[\p{L}\p{N}]\.[a-z]{2,}(?![\p{L}\p{N}])/u;

/**
 * Validates a name of an organization or user. Mails to people outside the organization show it, so it must not contain
 * a link.
 * @throws GatewayError `validation_failed` naming `param`.
 */
export function parseDisplayName(text: string, param = 'name'): string {
  const name = parseName(text, param);
  if (WEB_ADDRESS.test(name)) {
    throw new GatewayError('validation_failed', `${param} must not contain a URL or host name.`, { param });
  }
  return name;
}
