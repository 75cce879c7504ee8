import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { Access as AccessLevel } from '../../core/types/access';
import { addRouteConfig } from '../../core/http/route-config';

/** Settings and names are short; an unauthenticated caller must not make the service buffer megabytes. */
const MAX_BODY_BYTES = 64 * 1024;

/** Declares who may call a route. The process does not start if a dashboard route lacks it. */
export const Access = (access: AccessLevel, { maxBodyBytes = MAX_BODY_BYTES } = {}): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { access, maxBodyBytes });
