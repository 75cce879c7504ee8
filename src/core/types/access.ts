import type { Role } from './role';

/**
 * The access rule of a dashboard operation; the `x-access` of the document.
 *
 * `anonymous`: any caller, from a browser too. `machine`: a machine that signs its requests; the handler verifies it.
 * `user`: any signed-in user. A role: members of the organization in the path with at least that role. `operator`:
 * platform staff.
 */
export type Access = 'anonymous' | 'machine' | 'user' | 'operator' | Role;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on dashboard routes, which use sessions instead of API keys. */
    access?: Access;
    /** Largest JSON body of this route; default: the limit of the service. */
    maxBodyBytes?: number;
  }
}
