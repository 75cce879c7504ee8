import { RouteConfig } from '@nestjs/platform-fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without an API key. */
    publicRoute?: boolean;
  }
}

/** Opens a route to callers without a key. The rare word: everything else is closed. */
export const PublicRoute = (): MethodDecorator => RouteConfig({ publicRoute: true });
