import type { FastifyReply, FastifyRequest } from 'fastify';
import { changeLogOfUser } from '../accounts/attempt-logs';
import type { AttemptThrottle } from '../accounts/attempt-throttle';
import { SessionService, type VerifiedSession } from '../accounts/session.service';
import type { Access } from '../../core/types/access';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { isUuid } from '../../core/types/require-uuid';
import { mayActAs } from '../../core/types/role';
import { SessionDoor } from '../../http/session-door';
import { inTime } from '../../core/database/in-time';
import type { DashboardCaller } from './caller';
import { assertSameSite, isRead } from './same-site';
import { SessionCookie } from './session-cookie';

/** Key under which all anonymous request bodies are counted together. */
const ANONYMOUS = 'anonymous';

/**
 * Authorizes a request, in this order: a cookie is present where a session is required (401), a change comes from our own
 * pages (403 `csrf_failed`), the session is valid (401), its user is a member of the organization in the path (404) with a
 * sufficient role (403), and a change is within the user's limit (429).
 */
export class DashboardSessionGuard extends SessionDoor {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
    private readonly ownHost: string | null,
    private readonly throttle: AttemptThrottle,
    private readonly changesPerMinute: number,
  ) {
    super();
  }

  async admit(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    const access = request.routeOptions.config.access as Access;
    if (access === 'machine') return access;
    const token = access === 'anonymous' ? null : this.cookie.read(request);
    if (access !== 'anonymous' && token === null) throw unauthenticated();
    assertSameSite(request, this.ownHost);
    if (token === null) return ANONYMOUS;
    const named = (request.params as { readonly organization_id?: string }).organization_id;
    const organizationId = named !== undefined && isUuid(named) ? named.toLowerCase() : null;
    const session = await inTime(
      this.sessions.verify(token, isRole(access) ? organizationId : null),
      'Sessions cannot be verified at the moment. Retry shortly.',
    );
    if (session === null) throw unauthenticated();
    assertAuthorized(access, session);
    // Counted once: a request with a slow body is checked twice.
    if (request.caller === null && !isRead(request)) {
      await this.throttle.take([changeLogOfUser(session.userId, this.changesPerMinute)]);
    }
    request.caller = toCaller(request, access, session, organizationId);
    return session.userId;
  }
}

function isRole(access: Access): boolean {
  return access !== 'user' && access !== 'operator';
}

function assertAuthorized(access: Access, { role, isOperator }: VerifiedSession): void {
  if (access === 'anonymous' || access === 'machine' || access === 'user') return;
  if (access === 'operator') {
    if (!isOperator) throw forbidden();
    return;
  }
  // Does not reveal to non-members that the organization exists.
  if (role === null) throw new GatewayError('not_found', 'There is no such organization.');
  if (!mayActAs(role, access)) throw forbidden();
}

function toCaller(
  { context }: FastifyRequest,
  access: Access,
  session: VerifiedSession,
  organizationId: string | null,
): DashboardCaller {
  const actor: Actor = {
    kind: access === 'operator' ? 'operator' : 'user',
    userId: session.userId,
    address: context.clientAddress,
    requestId: context.requestId,
  };
  return { ...session, organizationId: session.role === null ? null : organizationId, actor };
}

function unauthenticated(): GatewayError {
  return new GatewayError('unauthenticated', 'Not signed in, or the session has expired.');
}

function forbidden(): GatewayError {
  return new GatewayError('forbidden', 'Your role does not allow this.');
}
