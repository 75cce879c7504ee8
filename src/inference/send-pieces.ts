import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Sends a response of many megabytes in pieces: joining it first would block the event loop. */
export function sendPieces(reply: FastifyReply, pieces: readonly Buffer[]): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  reply.header('content-length', length).send(Readable.from(pieces));
}
