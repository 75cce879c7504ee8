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

/** A host name in the receiver's certificate. */
export const NAME = 'hooks.example.com';

/** An ended job with a pending delivery. */
export interface PendingDelivery {
  readonly engine: WebhookEngine;
  readonly organizationId: string;
  readonly jobId: string;
  readonly secret: string;
  /** Moves the clock to the due time and posts. */
  next(): Promise<void>;
}

/** A receiver with deliveries that only the test advances; created and removed around each test. */
export class PendingDeliveries {
  private database: TestDatabase | undefined;
  private receiver: PublicHost | undefined;
  private readonly engines: WebhookEngine[] = [];

  /** Call once per file, outside of tests. */
  static setUp(): PendingDeliveries {
    Logger.overrideLogger(false);
    const deliveries = new PendingDeliveries();
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

  async create(settings: EngineSettings = {}, url = this.host.url('/hook')): Promise<PendingDelivery> {
    const engine = await startWebhookEngine(this.database?.url ?? '', settings);
    this.engines.push(engine);
    const organizationId = await createOrganization(engine);
    const [jobId = ''] = await endJobs(engine, organizationId, [url]);
    const next = async (): Promise<void> => {
      const { due_in: dueIn } = await deliveryOf(engine, jobId);
      await letPass(engine, jobId, Math.max(0, dueIn) + 0.001);
      await engine.service.deliverDue();
    };
    return { engine, organizationId, jobId, secret: await engine.secrets.require(organizationId), next };
  }

  private async open(): Promise<void> {
    [this.database, this.receiver] = await Promise.all([createTestDatabase(), PublicHost.start([NAME])]);
  }

  /** Due deliveries are shared: no test may leave one to the next. */
  private async clear(): Promise<void> {
    await this.engines[0]?.dataSource.query('DELETE FROM webhook_delivery');
    await Promise.all(this.engines.splice(0).map((engine) => engine.close()));
  }

  private async close(): Promise<void> {
    await this.receiver?.stop();
    await this.database?.drop();
  }
}

/** Expects the next attempt `seconds` after the last one, or after now without one, within 15 %. */
export async function expectDueIn({ engine, jobId }: PendingDelivery, seconds: number): Promise<void> {
  const [attempt] = await engine.dataSource.query<{ pause: number }[]>(
    `SELECT extract(epoch FROM w.next_at - a.started_at)::float8 - a.duration_ms / 1000.0 AS pause
       FROM webhook_delivery w JOIN webhook_attempt a ON a.delivery_id = w.id
      WHERE w.job_id = $1 ORDER BY a.number DESC LIMIT 1`,
    [jobId],
  );
  const { due_in: dueIn } = await deliveryOf(engine, jobId);
  expect(dueIn).toBeLessThan(seconds * 1.15);
  // Part of the pause may have passed, but the interval between the two times is fixed.
  if (attempt === undefined) expect(dueIn).toBeGreaterThan(0);
  else expect(Number(attempt.pause)).toBeGreaterThan(seconds * 0.85);
}
