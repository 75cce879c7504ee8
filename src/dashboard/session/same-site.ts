import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../common/errors/gateway-error';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: typed by the user himself, or no page at all. */
const OWN_SITES: ReadonlySet<unknown> = new Set(['same-origin', 'none', undefined]);

/**
 * A change has to be asked for by our own pages. A page of somebody else can make a browser send the cookie, but cannot set
 * `X-Requested-With` (contract section 5) without being asked first, nor forge what the browser says of its origin.
 * @param ownHost how clients reach the service, where a proxy in front of it has another name for it.
 * @throws GatewayError `csrf_failed`.
 */
export function assertSameSite({ method, headers, host }: FastifyRequest, ownHost: string | null): void {
  if (READS.has(method)) return;
  if (!headers['x-requested-with']) throw refusal('The request lacks the header X-Requested-With.');
  if (!OWN_SITES.has(headers['sec-fetch-site'])) throw refusal('The request comes from another site.');
  if (headers.origin === undefined) return;
  const origin = hostOf(headers.origin);
  if (origin === null || (origin !== host.toLowerCase() && origin !== ownHost)) {
    throw refusal('The request comes from another origin.');
  }
}

/** Name and port of an address, in lower case; `null` for `null` and whatever else is no address. */
export function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function refusal(message: string): GatewayError {
  return new GatewayError('csrf_failed', message);
}
