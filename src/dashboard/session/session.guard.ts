import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../core/types/actor';
import { inTime } from '../../core/database/in-time';
import { GatewayError } from '../../core/errors/gateway-error';
import { requestOf } from '../../core/http/request';
import type { Access } from '../../core/http/route.decorators';
import { isUuid } from '../../core/types/require-uuid';
import { SessionService, type VerifiedSession } from '../accounts/session.service';
import { isRole } from './roles.guard';
import { SessionCookie } from './session-cookie';

/** Requires a valid session on `@Session()` routes (401), unless they are for anonymous callers or machines. */
@Injectable()
export class SessionGuard implements CanActivate {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const { session: access } = request.rules;
    if (access === undefined || access === 'anonymous' || access === 'machine') return true;
    return this.admit(request, access);
  }

  private async admit(request: FastifyRequest, access: Access): Promise<true> {
    const token = this.cookie.read(request);
    if (token === null) throw unauthenticated();
    const named = (request.params as { readonly organization_id?: string }).organization_id;
    const organizationId = named !== undefined && isUuid(named) ? named.toLowerCase() : null;
    // One query reads the session and the membership that the roles guard judges.
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
