import { fastify, LogController } from 'fastify';
import type { AppConfig } from '../core/config/app-config';
import { listen } from '../core/http/listen';

const WAITING = { status: 'not_serving', reason: 'waiting for migrations' };

/**
 * Answers the probes of the management port while `work` brings the schema up to date, or waits until another process
 * has. That may take longer than an orchestrator tolerates a silent process, and a restart would not shorten the wait.
 */
export async function withWaitingProbes<Result>(
  { management, http }: Pick<AppConfig, 'management' | 'http'>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (management.port === 0) return work();
  const server = fastify({
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
  });
  server.get('/live', () => ({ status: 'live' }));
  server.get('/serving', (_request, reply) => reply.code(503).send(WAITING));
  server.get('/ready', (_request, reply) => reply.code(503).send({ ...WAITING, status: 'not_ready' }));
  await listen(server, { host: http.host, port: management.port }, 'MANAGEMENT_PORT');
  try {
    return await work();
  } finally {
    await server.close();
  }
}
