import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { inTime } from '../../core/database/in-time';
import { GatewayError } from '../../core/errors/gateway-error';
import { replyOf, requestOf } from '../../core/http/request';
import type { Access } from '../../core/http/route.decorators';
import type { Actor } from '../../core/types/actor';
import { isUuid } from '../../core/types/require-uuid';
import { mayActAs, type Role } from '../../core/types/role';
import { changeLogOfUser, questionLogOfUser } from '../accounts/attempt-logs';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { SessionService, type VerifiedSession } from '../accounts/session.service';
import { SessionCookie } from './session-cookie';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: entered in the browser. `undefined`: not sent by a browser, or by an old one. */
const OWN_SITES: ReadonlySet<unknown> = new Set(['same-origin', 'none', undefined]);

/**
 * Only pages of this service may make changes (403 `csrf_failed`). A foreign page can make a browser send the cookie,
 * but cannot set `X-Requested-With` without a CORS preflight, nor forge the `Origin` header.
 */
@Injectable()
export class CsrfGuard implements CanActivate {
  /** The public host of the service, if a proxy in front of it uses another host name. */
  private readonly ownHost: string | null;

  constructor(
    private readonly cookie: SessionCookie,
    @Inject(APP_CONFIG) { http }: AppConfig,
  ) {
    this.ownHost = http.publicBaseUrl === null ? null : hostOf(http.publicBaseUrl);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const access = accessOf(request);
    // As the first guard of the dashboard, it also sets these headers for refusals.
    replyOf(context).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (access === 'machine') return true;
    // Without a cookie there is no session to abuse, and the session guard refuses the request.
    if (access !== 'anonymous' && this.cookie.read(request) === null) return true;
    assertSameSite(request, this.ownHost);
    return true;
  }
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

/** Whether the request changes nothing. */
function isRead({ method }: FastifyRequest): boolean {
  return READS.has(method);
}

/** Host and port of a URL, in lower case; `null` for the string `null` and any other text that is not a URL. */
function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function refusal(message: string): GatewayError {
  return new GatewayError('csrf_failed', message);
}

/** Requires a valid session (401), unless the route is for anonymous callers or machines. */
@Injectable()
export class SessionGuard implements CanActivate {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const access = accessOf(request);
    return access === 'anonymous' || access === 'machine' ? true : this.admit(request, access);
  }

  private async admit(request: FastifyRequest, access: Access): Promise<true> {
    const token = this.cookie.read(request);
    if (token === null) throw unauthenticated();
    const named = (request.params as { readonly organization_id?: string }).organization_id;
    const organizationId = named !== undefined && isUuid(named) ? named.toLowerCase() : null;
    // One query reads the session and the membership that the roles guard checks.
    const session = await inTime(
      this.sessions.verify(token, isRole(access) ? organizationId : null),
      'Sessions cannot be verified at the moment. Retry shortly.',
    );
    if (session === null) throw unauthenticated();
    request.caller = {
      ...session,
      organizationId: session.role === null ? null : organizationId,
      actor: toActor(request, access, session),
    };
    return true;
  }
}

function toActor({ context }: FastifyRequest, access: Access, { userId }: VerifiedSession): Actor {
  const { clientAddress: address, requestId } = context;
  return { kind: access === 'operator' ? 'operator' : 'user', userId, address, requestId };
}

function unauthenticated(): GatewayError {
  return new GatewayError('unauthenticated', 'Not signed in, or the session has expired.');
}

/**
 * Requires membership of the organization in the path (404) with a sufficient role (403), or on operator routes the
 * operator flag (403).
 */
@Injectable()
export class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const { caller } = request;
    const access = accessOf(request);
    if (caller === null || access === 'user') return true;
    if (access === 'operator') {
      if (!caller.isOperator) throw forbidden();
    } else if (isRole(access)) {
      // Does not reveal to non-members that the organization exists.
      if (caller.role === null) throw new GatewayError('not_found', 'There is no such organization.');
      if (!mayActAs(caller.role, access)) throw forbidden();
    }
    return true;
  }
}

function forbidden(): GatewayError {
  return new GatewayError('forbidden', 'Your role does not allow this.');
}

/** Limits per user and minute the changes and, separately, the calls that only return data (429). */
@Injectable()
export class ChangeLimitGuard implements CanActivate {
  private readonly changesPerMinute: number;

  constructor(
    private readonly throttle: AttemptThrottle,
    @Inject(APP_CONFIG) { dashboard }: AppConfig,
  ) {
    this.changesPerMinute = dashboard.changesPerMinute;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    if (request.caller === null || isRead(request)) return true;
    const logOf = request.rules.answersOnly === true ? questionLogOfUser : changeLogOfUser;
    return this.throttle.take([logOf(request.caller.userId, this.changesPerMinute)]).then(() => true);
  }
}

/** These guards run only on routes with `@Session()`. */
function accessOf({ rules: { session } }: FastifyRequest): Access {
  if (session === undefined) throw new GatewayError('internal_error', 'The route requires no session.');
  return session;
}

/** Whether the access rule is a role in the organization of the path. */
function isRole(access: Access): access is Role {
  return access !== 'anonymous' && access !== 'machine' && access !== 'user' && access !== 'operator';
}
