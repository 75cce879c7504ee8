import fastify from 'fastify';
import { sendError } from './gateway-exception.filter';

const server = fastify({ logger: false });
let thrown: Error;
server.get('/', () => {
  throw thrown;
});
server.setErrorHandler((error, request, reply) => sendError(request, reply, error));
afterAll(() => server.close());

it.each([
  ['the client, which names no system call', {}, 400, 'invalid_json'],
  ['a server that is connected to', { syscall: 'read' }, 503, 'service_unavailable'],
])('distinguishes a broken connection of %s', async (_case, fields, status, code) => {
  thrown = Object.assign(new Error('it broke'), { code: 'ECONNRESET', ...fields });
  const reply = await server.inject('/');
  expect([reply.statusCode, reply.json().error.code]).toEqual([status, code]);
});
