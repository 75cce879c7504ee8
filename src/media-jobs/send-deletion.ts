import type { FastifyReply } from 'fastify';
import type { JobReply } from './job-replies';

/** 200 with a job that was canceled; 204 for one that was deleted (`null`). */
export function sendDeletion(canceled: JobReply | null, reply: FastifyReply): void {
  if (canceled === null) reply.code(204).send();
  else reply.code(200).send(canceled);
}
