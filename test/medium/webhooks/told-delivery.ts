import { Logger } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { PublicHost } from '../../harness/public-host';
import {
  createOrganization,
  deliveryOf,
  endJobs,
  type EngineSettings,
  letPass,
  startWebhookEngine,
  type WebhookEngine,
} from './webhook-engine';

/** A name that the receiver has a certificate for. */
export const NAME = 'hooks.example.com';

/** One job that has ended, and has to be told of. */
export interface Told {
  readonly engine: WebhookEngine;
  readonly jobId: string;
  readonly secret: string;
  /** Posts what is due, after the time that it takes until it is. */
  next(): Promise<void>;
}

/** A receiver, and deliveries to it that nothing but the test moves on; set up and cleared away around each test. */
export class ToldDeliveries {
  private database: TestDatabase | undefined;
  private receiver: PublicHost | undefined;
  private readonly engines: WebhookEngine[] = [];

  /** To be called once in a file, outside of its tests. */
  static setUp(): ToldDeliveries {
    Logger.overrideLogger(false);
    const deliveries = new ToldDeliveries();
    beforeAll(() => deliveries.open());
    beforeEach(() => {
      deliveries.host.seen.length = 0;
    });
    afterEach(() => deliveries.clear());
    afterAll(() => deliveries.close());
    return deliveries;
  }

  get host(): PublicHost {
    if (this.receiver === undefined) throw new Error('the receiver runs in tests only');
    return this.receiver;
  }

  answerWith(status: number, headers: Record<string, string> = {}): void {
    this.host.answer = (response) => response.writeHead(status, headers).end();
  }

  async tell(settings: EngineSettings = {}, url = this.host.url('/hook')): Promise<Told> {
    const engine = await startWebhookEngine(this.database?.url ?? '', settings);
    this.engines.push(engine);
    const organizationId = await createOrganization(engine);
    const [jobId = ''] = await endJobs(engine, organizationId, [url]);
    const next = async (): Promise<void> => {
      const { due_in: dueIn } = await deliveryOf(engine, jobId);
      await letPass(engine, jobId, Math.max(0, dueIn) + 0.001);
      await engine.service.deliverDue();
    };
    return { engine, jobId, secret: await engine.secrets.require(organizationId), next };
  }

  private async open(): Promise<void> {
    [this.database, this.receiver] = await Promise.all([createTestDatabase(), PublicHost.start([NAME])]);
  }

  /** Whatever is due is everybody's: no test may leave a delivery to the next. */
  private async clear(): Promise<void> {
    await this.engines[0]?.dataSource.query('DELETE FROM media_job');
    await Promise.all(this.engines.splice(0).map((engine) => engine.close()));
  }

  private async close(): Promise<void> {
    await this.receiver?.stop();
    await this.database?.drop();
  }
}

/** The next attempt is to be made so many seconds after the last one, or after now where none was made; 15 % more or less. */
export async function expectDueIn({ engine, jobId }: Told, seconds: number): Promise<void> {
  const [attempt] = await engine.dataSource.query<{ pause: number }[]>(
    `SELECT extract(epoch FROM w.next_at - a.started_at)::float8 - a.duration_ms / 1000.0 AS pause
       FROM webhook_delivery w JOIN webhook_attempt a ON a.delivery_id = w.id
      WHERE w.job_id = $1 ORDER BY a.number DESC LIMIT 1`,
    [jobId],
  );
  const { due_in: dueIn } = await deliveryOf(engine, jobId);
  expect(dueIn).toBeLessThan(seconds * 1.15);
  // Some of it may have passed by now, but not of what is between the two.
  if (attempt === undefined) expect(dueIn).toBeGreaterThan(0);
  else expect(Number(attempt.pause)).toBeGreaterThan(seconds * 0.85);
}
