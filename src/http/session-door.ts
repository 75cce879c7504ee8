import type { FastifyReply, FastifyRequest } from 'fastify';

/** Lets callers in on routes that say `access` (src/common/access.ts). Everything else takes an API key. */
export abstract class SessionDoor {
  /**
   * @returns on whose account the body is read: whose memory it takes.
   * @throws GatewayError `unauthenticated`, `csrf_failed`, `forbidden`, `not_found`, before a byte of the body is read.
   */
  abstract admit(request: FastifyRequest, reply: FastifyReply): Promise<string>;
}
