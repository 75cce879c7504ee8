import type { FastifyInstance, HTTPMethods } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';

interface PendingOperation {
  readonly operationId: string;
  readonly method: HTTPMethods;
  readonly url: string;
}

/**
 * What the document describes and this build does not do yet, in one place. Each answers 501 `not_implemented` to a
 * caller with a valid key, before the body is read. A line leaves this list when its controller arrives.
 */
export const PENDING_OPERATIONS: readonly PendingOperation[] = [
  { operationId: 'createImage', method: 'POST', url: '/v1/images/generations' },
  { operationId: 'createImageEdit', method: 'POST', url: '/v1/images/edits' },
  { operationId: 'createSpeech', method: 'POST', url: '/v1/audio/speech' },
  { operationId: 'createTranscription', method: 'POST', url: '/v1/audio/transcriptions' },
  { operationId: 'createVideo', method: 'POST', url: '/v1/video/generations' },
  { operationId: 'getVideo', method: 'GET', url: '/v1/video/generations/:id' },
  { operationId: 'deleteVideo', method: 'DELETE', url: '/v1/video/generations/:id' },
  { operationId: 'createMusic', method: 'POST', url: '/v1/music/generations' },
  { operationId: 'getMusic', method: 'GET', url: '/v1/music/generations/:id' },
  { operationId: 'deleteMusic', method: 'DELETE', url: '/v1/music/generations/:id' },
  { operationId: 'getJob', method: 'GET', url: '/v1/jobs/:id' },
];

export function registerPendingOperations(server: FastifyInstance): void {
  for (const { method, url, operationId } of PENDING_OPERATIONS) {
    const refusal = new GatewayError('not_implemented', `${operationId} is not part of this build.`);
    server.route({
      method,
      url,
      preParsing: (_request, _reply, _payload, done) => done(refusal),
      handler: (_request, reply) => reply.send(refusal),
    });
  }
}
