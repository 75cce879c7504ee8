import type { FastifyReply, FastifyRequest } from 'fastify';
import { SessionService, type VerifiedSession } from '../../accounts/session.service';
import type { Access } from '../../common/access';
import type { Actor } from '../../common/actor';
import { GatewayError } from '../../common/errors/gateway-error';
import { isUuid } from '../../common/require-uuid';
import { mayActAs } from '../../common/role';
import { SessionDoor } from '../../http/session-door';
import { inTime } from '../../database/in-time';
import type { DashboardCaller } from './caller';
import { assertSameSite } from './same-site';
import { SessionCookie } from './session-cookie';

/** What anonymous bodies count as, together. */
const ANONYMOUS = 'anonymous';

/**
 * Who may pass, in this order: a session is asked for where one is needed (401), a change has to come from our own pages
 * (403 `csrf_failed`), the session has to be alive (401), its user a member of the organization in the path (404) with a
 * role that suffices (403).
 */
export class DashboardDoor extends SessionDoor {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
    private readonly ownHost: string | null,
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
      'Sessions cannot be checked at the moment. Try again shortly.',
    );
    if (session === null) throw unauthenticated();
    assertMayPass(access, session);
    request.caller = toCaller(request, access, session, organizationId);
    return session.userId;
  }
}

function isRole(access: Access): boolean {
  return access !== 'user' && access !== 'operator';
}

function assertMayPass(access: Access, { role, isOperator }: VerifiedSession): void {
  if (access === 'anonymous' || access === 'machine' || access === 'user') return;
  if (access === 'operator') {
    if (!isOperator) throw forbidden();
    return;
  }
  // To others it is as if there were no such organization.
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
  return new GatewayError('unauthenticated', 'Nobody is signed in, or the session is over.');
}

function forbidden(): GatewayError {
  return new GatewayError('forbidden', 'Your role does not allow this.');
}
