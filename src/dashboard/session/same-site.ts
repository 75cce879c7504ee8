import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors/gateway-error';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: typed into the browser, or not sent from a page. */
const OWN_SITES: ReadonlySet<unknown> = new Set(['same-origin', 'none', undefined]);

/**
 * CSRF protection: only pages of this service may make changes. A foreign page can make a browser send the cookie, but
 * cannot set `X-Requested-With` (contract section 5) without a CORS preflight, nor forge the `Origin` header.
 * @param ownHost public host of the service, when a proxy in front of it uses another one.
 * @throws GatewayError `csrf_failed`.
 */
export function assertSameSite(request: FastifyRequest, ownHost: string | null): void {
  if (isRead(request)) return;
  const { headers, host } = request;
  if (!headers['x-requested-with']) throw refusal('The X-Requested-With header is missing.');
  if (!OWN_SITES.has(headers['sec-fetch-site'])) throw refusal('The request comes from another site.');
  if (headers.origin === undefined) return;
  const origin = hostOf(headers.origin);
  if (origin === null || (origin !== host.toLowerCase() && origin !== ownHost)) {
    throw refusal('The request comes from another origin.');
  }
}

/** Whether the request changes nothing. */
export function isRead({ method }: FastifyRequest): boolean {
  return READS.has(method);
}

/** Host and port of a URL, in lower case; `null` for the string `null` and any other text that is not a URL. */
export function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function refusal(message: string): GatewayError {
  return new GatewayError('csrf_failed', message);
}
