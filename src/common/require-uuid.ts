import { GatewayError } from './errors/gateway-error';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * The id that a path names, in lower case. What is no id names nothing, as an id that nobody has.
 * @throws GatewayError `not_found` with `message`, which has to be that of an unknown id.
 */
export function requireUuid(text: string, message = 'There is no such resource.'): string {
  if (!isUuid(text)) throw new GatewayError('not_found', message);
  return text.toLowerCase();
}
