import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { Access as AccessLevel } from '../../common/access';
import { addRouteConfig } from '../../common/route-config';

/** Settings and names are short; nobody may make the service hold megabytes before it knows who they are. */
const MAX_BODY_BYTES = 64 * 1024;

/** Says who may call a route. Every route of the dashboard has to, or the process does not start. */
export const Access = (access: AccessLevel, { maxBodyBytes = MAX_BODY_BYTES } = {}): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { access, maxBodyBytes });
