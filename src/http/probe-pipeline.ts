import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { GatewayError } from '../common/errors/gateway-error';
import { toRequestId } from '../common/ids';
import { GatewayExceptionFilter } from './gateway-exception.filter';

/**
 * What every request passes in a process that has no API: only the open routes are there, whatever else the modules bring
 * that its work needs. A key is asked for by nobody here, so that nothing may be served that needs one.
 */
export function installProbePipeline(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', toRequestId(request.id));
    const isOpen = !request.is404 && request.routeOptions.config.publicRoute === true;
    done(isOpen ? undefined : new GatewayError('not_found', 'There is no such endpoint.'));
  });
  app.useGlobalFilters(new GatewayExceptionFilter());
}
