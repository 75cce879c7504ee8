import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Sets the entity tag and, if the client has this version already, status 304; the reply must then have no body.
 * @param tag a strong tag with its quotes
 * @returns whether the client has this version
 */
export function isFresh(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  reply.header('etag', tag);
  if (!isKnown(request, tag)) return false;
  reply.code(304);
  return true;
}

/** Whether the client has this version already: `If-None-Match` names its tag, or any. @param tag as {@link isFresh} */
export function isKnown({ headers }: Pick<FastifyRequest, 'headers'>, tag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((entry) => entry.trim().replace(/^W\//, '')) ?? [];
  return known.includes(tag) || known.includes('*');
}
