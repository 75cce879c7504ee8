import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../common/actor';
import { GatewayError } from '../../common/errors/gateway-error';
import type { Role } from '../../common/role';

/** Who is signed in. */
export interface DashboardCaller {
  readonly userId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
  /** Of the path, of which the caller is a member with `role`; `null` where the path names none. */
  readonly organizationId: string | null;
  readonly role: Role | null;
  /** The same person for the audit log. */
  readonly actor: Actor;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes of the dashboard that take a session. */
    caller: DashboardCaller | null;
  }
}

/** The caller as a parameter of a handler. */
export const Caller = createParamDecorator((_data: undefined, context: ExecutionContext): DashboardCaller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === null) throw new GatewayError('internal_error', 'The route takes no session.');
  return caller;
});

/** The organization of the path. On routes whose access is a role there is one. */
export function requireOrganization({ organizationId }: DashboardCaller): string {
  if (organizationId === null) throw new GatewayError('internal_error', 'The route names no organization.');
  return organizationId;
}
