import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { readIdempotencyKey } from '../idempotency/idempotency-key';

/** Routes marked with `@Idempotent()` read their key, between body and DTO; others never look. */
export function addIdempotencyKeys(server: FastifyInstance): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const need = route.config?.idempotencyKey;
    if (need === undefined) return;
    route.preHandler = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
      try {
        request.context.idempotencyKey = readIdempotencyKey(request.headers['idempotency-key'], need === 'required');
      } catch (error) {
        done(error as Error);
        return;
      }
      done();
    };
  });
}
