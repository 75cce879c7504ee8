import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from '../common/route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route takes an `Idempotency-Key`. Others ignore the header. */
    idempotencyKey?: 'optional' | 'required';
  }
}

/** Lets a route be repeated safely: with an `Idempotency-Key` it runs once (src/idempotency/README.md). */
export const Idempotent = ({ required = false } = {}): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { idempotencyKey: required ? 'required' : 'optional' });
