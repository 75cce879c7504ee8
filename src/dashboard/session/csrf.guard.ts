import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { GatewayError } from '../../core/errors/gateway-error';
import { replyOf, requestOf } from '../../core/http/request';
import { SessionCookie } from './session-cookie';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: typed into the browser, or not sent from a page. */
const OWN_SITES: ReadonlySet<unknown> = new Set(['same-origin', 'none', undefined]);

/**
 * Only pages of this service may make changes (403 `csrf_failed`). A foreign page can make a browser send the cookie,
 * but cannot set `X-Requested-With` without a CORS preflight, nor forge the `Origin` header.
 */
@Injectable()
export class CsrfGuard implements CanActivate {
  /** The public host of the service, when a proxy in front of it uses another one. */
  private readonly ownHost: string | null;

  constructor(
    private readonly cookie: SessionCookie,
    @Inject(APP_CONFIG) { http }: AppConfig,
  ) {
    this.ownHost = http.publicBaseUrl === null ? null : hostOf(http.publicBaseUrl);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const { session } = request.rules;
    if (session === undefined) return true;
    // The first guard of the dashboard: its refusals have these headers too.
    replyOf(context).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (session === 'machine') return true;
    // Without a cookie there is no session to abuse: the session guard refuses the request.
    if (session !== 'anonymous' && this.cookie.read(request) === null) return true;
    assertSameSite(request, this.ownHost);
    return true;
  }
}

/** Whether the request changes nothing. */
export function isRead({ method }: FastifyRequest): boolean {
  return READS.has(method);
}

/** @throws GatewayError `csrf_failed`. */
function assertSameSite(request: FastifyRequest, ownHost: string | null): void {
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

/** Host and port of a URL, in lower case; `null` for the string `null` and any other text that is not a URL. */
function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function refusal(message: string): GatewayError {
  return new GatewayError('csrf_failed', message);
}
