import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { fastify, type FastifyInstance, LogController } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { listen } from '../core/http/listen';
import { Metrics } from '../core/observability/metrics/catalogue';
import { EXPOSITION_TYPE, renderMetrics } from '../core/observability/metrics/exposition';
import { ReadinessService } from './readiness.service';
import { ServingState } from './serving-state';

/**
 * Serves metrics and probes on a separate port that only operators can reach. It stays up until the process ends, so
 * that probes can report draining.
 */
@Injectable()
export class ManagementServer {
  private server: FastifyInstance | null = null;
  private readonly tokenDigest: Buffer | null;

  constructor(
    private readonly metrics: Metrics,
    private readonly readiness: ReadinessService,
    private readonly serving: ServingState,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {
    const { management } = config;
    this.tokenDigest = management.token === null ? null : digest(`Bearer ${management.token}`);
  }

  /** Listens on the configured port. @returns the URL, as {@link listen}; `null` when no port is configured */
  async start(): Promise<string | null> {
    const { http, management } = this.config;
    return management.port === 0 ? null : this.listen(http.host, management.port);
  }

  /** @returns the URL, such as `http://127.0.0.1:9464` */
  async listen(host: string, port: number): Promise<string> {
    const server = fastify({
      logController: new LogController({ disableRequestLogging: true }),
      forceCloseConnections: true,
    });
    this.addRoutes(server);
    this.server = server;
    return listen(server, { host, port }, 'MANAGEMENT_PORT');
  }

  async close(): Promise<void> {
    await this.server?.close();
  }

  private addRoutes(server: FastifyInstance): void {
    server.get('/live', () => ({ status: 'live' }));
    server.get('/serving', async (_request, reply) => {
      const isServing = await this.serving.isServing();
      return reply.code(isServing ? 200 : 503).send({ status: isServing ? 'serving' : 'not_serving' });
    });
    server.get('/ready', async (_request, reply) => {
      const report = await this.readiness.check();
      return reply.code(report.status === 'ready' ? 200 : 503).send(report);
    });
    server.get('/metrics', async ({ headers }, reply) => {
      if (!this.mayReadMetrics(headers.authorization)) {
        return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'MANAGEMENT_TOKEN is required' });
      }
      await this.metrics.refresh();
      return reply.type(EXPOSITION_TYPE).send(await renderMetrics(this.metrics.registry));
    });
  }

  /** Compares digests, because a constant-time comparison needs inputs of equal length. */
  private mayReadMetrics(authorization = ''): boolean {
    return this.tokenDigest === null || timingSafeEqual(this.tokenDigest, digest(authorization));
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
