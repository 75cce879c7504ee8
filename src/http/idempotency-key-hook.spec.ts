import { fastify, type FastifyInstance } from 'fastify';
import { GatewayError } from '../core/errors/gateway-error';
import type { RequestContext } from '../core/types/request-context';
import { addIdempotencyKeys } from './idempotency-key-hook';

/** A server with one route of each kind, which returns the key it received. */
function serve(): FastifyInstance {
  const server = fastify();
  server.decorateRequest('context');
  server.addHook('onRequest', async (request) => {
    request.context = { idempotencyKey: null } as RequestContext;
  });
  addIdempotencyKeys(server);
  server.setErrorHandler((error, _request, reply) => reply.send({ code: (error as GatewayError).code }));
  for (const need of ['optional', 'required', undefined] as const) {
    server.post(`/${need}`, { config: { idempotencyKey: need } }, async (request) => ({
      key: request.context.idempotencyKey,
    }));
  }
  return server;
}

it.each([
  ['optional', 'abc', { key: 'abc' }],
  ['optional', undefined, { key: null }],
  ['optional', 'a b', { code: 'validation_failed' }],
  ['required', 'abc', { key: 'abc' }],
  ['required', undefined, { code: 'idempotency_key_required' }],
  ['undefined', 'a b', { key: null }],
])('a route with the key %s, sent %p, returns %p', async (need, key, expected) => {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const reply = await serve().inject({ method: 'POST', url: `/${need}`, headers });
  expect(reply.json()).toEqual(expected);
});
