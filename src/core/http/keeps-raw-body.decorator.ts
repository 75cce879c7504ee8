import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from './route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Keeps the raw bytes of a JSON body next to the parsed value. */
    keepsRawBody?: boolean;
  }
}

/** For signed bodies: a signature covers bytes, which cannot be rebuilt from the parsed value. */
export const KeepsRawBody = (): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { keepsRawBody: true });
