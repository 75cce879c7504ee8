import { GatewayError } from '../errors/gateway-error';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * The id in a path, in lower case. Malformed ids are treated like unknown ones.
 * @throws GatewayError `not_found` with `message`, which must equal the message for an unknown id.
 */
export function requireUuid(text: string, message = 'There is no such resource.'): string {
  if (!isUuid(text)) throw new GatewayError('not_found', message);
  return text.toLowerCase();
}
