import { RouteConfig } from '@nestjs/platform-fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Served without an API key. */
    publicRoute?: boolean;
  }
}

/** Opens a route to callers without a key. All other routes are closed. */
export const PublicRoute = (): MethodDecorator => RouteConfig({ publicRoute: true });
