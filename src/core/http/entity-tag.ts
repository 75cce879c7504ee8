import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Sets the entity tag and, if the client has this version already, status 304; the reply must then have no body.
 * @param tag a strong tag with its quotes
 * @returns whether the client has this version
 */
export function isFresh(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  reply.header('etag', tag);
  const known = request.headers['if-none-match']?.split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  if (known?.includes(tag) !== true) return false;
  reply.code(304);
  return true;
}
