import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Role } from '../../core/types/role';

/** The signed-in user of a request. */
export interface DashboardCaller {
  readonly userId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
  /** From the path; the caller is a member with `role`. `null` when the path names none. */
  readonly organizationId: string | null;
  readonly role: Role | null;
  /** The caller in the audit log. */
  readonly actor: Actor;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on dashboard routes that require a session. */
    caller: DashboardCaller | null;
  }
}

/** The caller as a parameter of a handler. */
export const Caller = createParamDecorator((_data: undefined, context: ExecutionContext): DashboardCaller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === null) throw new GatewayError('internal_error', 'The route requires no session.');
  return caller;
});

/** The organization in the path. Present on every route whose access is a role. */
export function requireOrganization({ organizationId }: DashboardCaller): string {
  if (organizationId === null) throw new GatewayError('internal_error', 'The route names no organization.');
  return organizationId;
}
