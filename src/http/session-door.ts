import type { FastifyReply, FastifyRequest } from 'fastify';

/** Authenticates routes that declare `access` (src/core/types/access.ts). All other routes take an API key. */
export abstract class SessionDoor {
  /**
   * @returns the owner that the body's memory is charged to.
   * @throws GatewayError `unauthenticated`, `csrf_failed`, `forbidden`, `not_found`, before a byte of the body is read.
   */
  abstract admit(request: FastifyRequest, reply: FastifyReply): Promise<string>;
}
