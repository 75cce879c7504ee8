import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from '../../core/http/route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route is rate-limited: a caller known to be over its limits is refused before the request is read. */
    spends?: boolean;
  }
}

/** Marks a route that costs money. */
export const Spends = (): MethodDecorator => addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { spends: true });
