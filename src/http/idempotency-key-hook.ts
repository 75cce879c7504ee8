import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { readIdempotencyKey } from '../auth/idempotency/idempotency-key';

/** Reads the key of routes marked with `@Idempotent()`, between body and DTO; other routes ignore it. */
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
