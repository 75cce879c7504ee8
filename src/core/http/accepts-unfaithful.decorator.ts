import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from './route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Accepts values that cannot be passed on unchanged, such as NUL characters. */
    acceptsUnfaithful?: boolean;
  }
}

/** For bodies that are checked but not forwarded. The route reads `request.unfaithfulBody` where it matters. */
export const AcceptsUnfaithful = (): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { acceptsUnfaithful: true });
