import { createHmac, randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import { SecretBox } from '../../../src/core/secrets/secret-box';
import type { WakeUp } from '../../../src/core/queue/wake-up-queue';
import { GuardedClient, type OutboundOptions } from '../../../src/core/outbound/guarded-client';
import { WebhookAttemptService } from '../../../src/webhooks/webhook-attempt.service';
import { UNTRACED } from '../../harness/span-collector';
import type { WebhookBody, WebhookBodySource } from '../../../src/webhooks/webhook-body-source';
import { WebhookDeliveryRepository } from '../../../src/webhooks/webhook-delivery.repository';
import { WebhookDeliveryService } from '../../../src/webhooks/webhook-delivery.service';
import { WebhookSecretRepository } from '../../../src/webhooks/webhook-secret.repository';
import { WebhookSecretService } from '../../../src/webhooks/webhook-secret.service';
import type { WebhookWakeUps } from '../../../src/webhooks/webhook-wake-ups';
import type { JobDelivery } from '../../../src/webhooks/webhook.types';
import { openDataSource } from '../../harness/data-source';
import type { SeenRequest } from '../../harness/public-host';

export const SECRETS_KEY = '5e'.repeat(32);

/** Builds bodies from job rows; `null` for a deleted job. */
export class JobRows implements WebhookBodySource {
  constructor(protected readonly dataSource: DataSource) {}

  async build({ jobId, event }: JobDelivery): Promise<WebhookBody | null> {
    const rows = await this.dataSource.query<object[]>(
      'SELECT id, status, clock_timestamp() AS built_at FROM media_job WHERE id = $1 AND deleted_at IS NULL',
      [jobId],
    );
    const [job] = rows;
    if (job === undefined) return null;
    const bytes = Buffer.from(JSON.stringify({ event, job, text: 'é\u{1f3b5}' }));
    return { bytes, requestId: requestIdOf(jobId), traceparent: null };
  }
}

export const requestIdOf = (jobId: string): string => `req_${jobId.replaceAll('-', '')}`;

export interface EngineSettings {
  readonly outbound?: Partial<OutboundOptions>;
  readonly clock?: Clock;
  readonly source?: (dataSource: DataSource) => WebhookBodySource;
  readonly repository?: (dataSource: DataSource) => WebhookDeliveryRepository;
}

/** The webhook services of one process. Nothing runs by itself. */
export interface WebhookEngine {
  readonly dataSource: DataSource;
  readonly repository: WebhookDeliveryRepository;
  readonly secrets: WebhookSecretService;
  readonly service: WebhookDeliveryService;
  close(): Promise<void>;
}

export async function startWebhookEngine(url: string, settings: EngineSettings = {}): Promise<WebhookEngine> {
  const { clock = systemClock } = settings;
  const dataSource = await openDataSource(url, 4);
  const outbound = new GuardedClient({
    allowCidrs: ['127.0.0.1'],
    denyCidrs: [],
    denyHosts: [],
    nat64: false,
    ...settings.outbound,
  });
  const repository = settings.repository?.(dataSource) ?? new WebhookDeliveryRepository(dataSource);
  const secrets = new WebhookSecretService(new WebhookSecretRepository(dataSource), new SecretBox([SECRETS_KEY]));
  const source = settings.source?.(dataSource) ?? new JobRows(dataSource);
  const attempts = new WebhookAttemptService(repository, secrets, source, outbound, new Metrics(), UNTRACED, clock);
  const wakeUpsInHand = new Set<Promise<unknown>>();
  // Wake-ups arrive in this process at once.
  const wake = async (delivery: WakeUp): Promise<void> => {
    const handled = service.deliver(delivery).finally(() => wakeUpsInHand.delete(handled));
    wakeUpsInHand.add(handled);
  };
  const wakeUps = { wake } as Partial<WebhookWakeUps> as WebhookWakeUps;
  const service = new WebhookDeliveryService(repository, attempts, wakeUps, clock);
  return {
    dataSource,
    repository,
    secrets,
    service,
    close: async () => {
      await service.stop();
      await Promise.all(wakeUpsInHand);
      await dataSource.destroy();
    },
  };
}

export async function createOrganization({ dataSource }: Pick<WebhookEngine, 'dataSource'>): Promise<string> {
  const id = randomUUID();
  await dataSource.query(`INSERT INTO organization (id, name) VALUES ($1, 'webhook test')`, [id]);
  return id;
}

/** Creates an ended job with a due delivery for each URL. Returns the job ids. */
export async function endJobs(
  { dataSource }: Pick<WebhookEngine, 'dataSource'>,
  organizationId: string,
  urls: readonly string[],
): Promise<string[]> {
  const ids = urls.map(() => randomUUID());
  await dataSource.query(
    `INSERT INTO media_job (id, organization_id, key_id, kind, model, status, error_code, error_message,
                            estimated_cost_micro, max_cost_micro, params, settings, route, webhook_url, metadata,
                            next_run_at, created_at, completed_at, expires_at)
     SELECT j.id, $2, $2, 'video', 'mock/video-1', 'failed', 'provider_error', 'It failed.', 1, 1, '{}', '{}', '{}', j.url,
            '{}', now(), now(), now(), now() FROM unnest($1::uuid[], $3::text[]) AS j (id, url)`,
    [ids, organizationId, urls],
  );
  await dataSource.query(
    `INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at)
     SELECT j.id, $2, 'job.failed', j.url, substring(j.url FROM '^https://([^/:]*)'),
            clock_timestamp() - interval '1 second' + j.nth * interval '1 microsecond', clock_timestamp()
       FROM unnest($1::uuid[], $3::text[]) WITH ORDINALITY AS j (id, url, nth)`,
    [ids, organizationId, urls],
  );
  return ids;
}

export interface DeliveryRow {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  /** Seconds from now to the next attempt. */
  readonly due_in: number;
  readonly is_leased: boolean;
  readonly has_ended: boolean;
}

export async function deliveryOf(
  { dataSource }: Pick<WebhookEngine, 'dataSource'>,
  jobId: string,
): Promise<DeliveryRow> {
  const [row] = await dataSource.query<DeliveryRow[]>(
    `SELECT id, state, attempt, last_status, last_error, lease_until IS NOT NULL AS is_leased,
            ended_at IS NOT NULL AS has_ended, extract(epoch FROM next_at - clock_timestamp())::float8 AS due_in
       FROM webhook_delivery WHERE job_id = $1`,
    [jobId],
  );
  if (row === undefined) throw new Error(`no delivery of job ${jobId}`);
  return row;
}

/** The delivery log: status or class of each attempt. */
export async function logOf({ dataSource }: Pick<WebhookEngine, 'dataSource'>, jobId: string): Promise<unknown[]> {
  const rows = await dataSource.query<{ number: number; status: number | null; error: string | null }[]>(
    `SELECT a.number, a.status, a.error FROM webhook_attempt a JOIN webhook_delivery w ON w.id = a.delivery_id
      WHERE w.job_id = $1 ORDER BY a.number`,
    [jobId],
  );
  return rows.map(({ number, status, error }) => [number, status, error]);
}

/** Moves all times of a job's delivery into the past instead of waiting. */
export async function letPass(
  { dataSource }: Pick<WebhookEngine, 'dataSource'>,
  jobId: string,
  seconds: number,
): Promise<void> {
  await dataSource.query(
    `UPDATE webhook_delivery SET next_at = next_at - make_interval(secs => $2),
                                 lease_until = lease_until - make_interval(secs => $2) WHERE job_id = $1`,
    [jobId, seconds],
  );
}

/** Verifies both signatures as a receiver does, one with the Standard Webhooks library. */
export function verify({ body, headers }: SeenRequest, secret: string): { event: string; job: { id: string } } {
  const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  if (headers['x-llm-signature'] !== expected) throw new Error('X-LLM-Signature is wrong');
  return new Webhook(secret).verify(body, headers as Record<string, string>) as { event: string; job: { id: string } };
}
