import type { Role } from './role';

/**
 * Who may call an operation of the dashboard; the `x-access` of the document.
 *
 * `anonymous`: everybody, from a browser too. `machine`: a machine that signs what it sends; the handler verifies it.
 * `user`: whoever is signed in. A role: members of the organization in the path with that role or one above it.
 * `operator`: staff of the platform.
 */
export type Access = 'anonymous' | 'machine' | 'user' | 'operator' | Role;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes of the dashboard, which know sessions instead of API keys. */
    access?: Access;
    /** Largest JSON body of this route; that of the service where it is not set. */
    maxBodyBytes?: number;
  }
}
