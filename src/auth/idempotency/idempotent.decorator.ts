import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from '../../core/http/route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route accepts an `Idempotency-Key`. Other routes ignore the header. */
    idempotencyKey?: 'optional' | 'required';
  }
}

/** Makes a route idempotent: with an `Idempotency-Key` a request runs once (src/auth/idempotency/README.md). */
export const Idempotent = ({ required = false } = {}): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { idempotencyKey: required ? 'required' : 'optional' });
