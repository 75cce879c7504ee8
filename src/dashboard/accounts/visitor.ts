import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { SessionOrigin } from './session.service';
import type { Actor } from '../../core/types/actor';

/** The origin of a request without a session, or of one that creates a session. */
export interface DashboardVisitor {
  readonly origin: SessionOrigin;
  /** `system`: not signed in yet. */
  readonly actor: Actor;
}

/** The visitor as a parameter of a handler. */
export const Visitor = createParamDecorator((_data: undefined, context: ExecutionContext): DashboardVisitor => {
  const { context: known, headers } = context.switchToHttp().getRequest<FastifyRequest>();
  const { clientAddress: address, requestId } = known;
  return {
    origin: { address, userAgent: headers['user-agent'] ?? null },
    actor: { kind: 'system', userId: null, address, requestId },
  };
});
