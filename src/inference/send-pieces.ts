import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Sends an answer of many megabytes piece by piece: joining it first would hold up everybody. */
export function sendPieces(reply: FastifyReply, pieces: readonly Buffer[]): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  reply.header('content-length', length).send(Readable.from(pieces));
}
