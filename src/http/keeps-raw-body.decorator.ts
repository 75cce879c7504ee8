import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from '../common/route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Keeps the bytes of a JSON body beside what they mean. */
    keepsRawBody?: boolean;
  }
}

/** For bodies that are signed: a signature is over bytes, which nobody can make again from what they mean. */
export const KeepsRawBody = (): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { keepsRawBody: true });
