import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { GatewayError } from '../core/errors/gateway-error';
import { toRequestId } from '../core/types/ids';
import { GatewayExceptionFilter } from '../core/http/gateway-exception.filter';

/**
 * The request pipeline of a process without an API: only public routes are served, even if imported modules declare
 * others. Keys are not checked here, so no route that needs one may be served.
 */
export function serveOnlyPublicRoutes(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', toRequestId(request.id));
    const isOpen = !request.is404 && request.routeOptions.config.public === true;
    done(isOpen ? undefined : new GatewayError('not_found', 'There is no such endpoint.'));
  });
  app.useGlobalFilters(new GatewayExceptionFilter());
}
