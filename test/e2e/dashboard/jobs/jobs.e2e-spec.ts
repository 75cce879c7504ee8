import { randomUUID } from 'node:crypto';
import type { Role } from '../../../../src/core/types/role';
import { JobGateway } from '../../create-video/job-gateway';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply, TestCustomer } from '../../../harness/gateway';

let served: JobGateway;
beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

/** A new customer and a viewer of its organization. */
async function newcomer(): Promise<{ readonly customer: TestCustomer; readonly viewer: DashboardClient }> {
  const customer = await served.gateway.customer();
  const viewer = await served.gateway.dashboardUser({ role: 'viewer', organizationId: customer.organizationId });
  return { customer, viewer };
}

async function idsOf(viewer: DashboardClient, query = ''): Promise<string[]> {
  const { status, json } = await viewer.call(viewer.path(`/jobs${query}`));
  expect(status).toBe(200);
  return json.data.map(({ id }: { id: string }) => id);
}

describe('listJobs', () => {
  it('lists the jobs of all keys of the organization, newest first, each on exactly one page', async () => {
    const { customer, viewer } = await newcomer();
    const other = await served.anotherKey(customer, {});
    const ids: string[] = [];
    for (const each of [customer, other, customer, other, customer]) ids.unshift(await served.submitted({}, each));
    await served.submitted();

    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '?limit=2' : `?limit=2&cursor=${cursor}`;
      const { json } = await viewer.call(viewer.path(`/jobs${query}`));
      expect(json.data.length).toBeLessThanOrEqual(2);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      cursor = json.next_cursor as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(ids);
    expect(await idsOf(viewer)).toEqual(ids);
  });

  it('applies its filters', async () => {
    const { customer, viewer } = await newcomer();
    const other = await served.anotherKey(customer, {});
    const video = await served.submitted({}, customer);
    const music = (await served.createMusic({}, { customer: other })).json.id as string;
    await served.deleteVideo(video, customer);

    expect(await idsOf(viewer, '?kind=music')).toEqual([music]);
    expect(await idsOf(viewer, '?status=canceled')).toEqual([video]);
    expect(await idsOf(viewer, '?model=mock%2Fmusic-1')).toEqual([music]);
    expect(await idsOf(viewer, `?key_id=${customer.keyId}`)).toEqual([video]);
    expect(await idsOf(viewer, '?to=2026-01-01')).toEqual([]);
    expect(await idsOf(viewer, '?from=2026-01-01')).toEqual([music, video]);
    expect(await idsOf(viewer, `?key_id=${randomUUID()}`)).toEqual([]);
  });

  it.each([
    ['kind=image', 'kind'],
    ['status=done', 'status'],
    ['key_id=1', 'key_id'],
    ['from=yesterday', 'from'],
    ['limit=0', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=bm9uZQ', 'cursor'],
    ['colour=red', 'colour'],
  ])('refuses %s and names the parameter', async (query, param) => {
    const { viewer } = await newcomer();
    const { status, json } = await viewer.call(viewer.path(`/jobs?${query}`));
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
  });
});

describe('getOrganizationJob', () => {
  it('returns the job as /v1 does, regardless of the key restrictions, and the submitting key', async () => {
    const { customer, viewer } = await newcomer();
    const id = await served.submitted({ metadata: { order: '7' } }, customer);
    const { json } = await viewer.call(viewer.path(`/jobs/${id}`));
    expect(json.job).toEqual((await served.getJob(id, customer)).json);
    expect([json.key_id, json.webhook_deliveries]).toEqual([customer.keyId, []]);
  });

  it('signs result URLs and includes the webhook delivery', async () => {
    const { customer, viewer } = await newcomer();
    const id = await served.submitted({ webhook_url: 'https://hooks.example.com/hook' }, customer);
    await served.succeed(id);
    const { json } = await viewer.call(viewer.path(`/jobs/${id}`));
    const [artifact] = json.job.artifacts;
    expect((await fetch(artifact.url as string)).status).toBe(200);
    expect(json.webhook_deliveries).toMatchObject([
      { job_id: id, event: 'job.completed', state: 'pending', attempts: 0 },
    ]);
  });

  it('returns 404 for a deleted job', async () => {
    const { customer, viewer } = await newcomer();
    const id = await served.submitted({}, customer);
    await served.deleteVideo(id, customer);
    expect((await viewer.call(viewer.path(`/jobs/${id}`))).status).toBe(200);
    await served.deleteVideo(id, customer);
    expect((await viewer.call(viewer.path(`/jobs/${id}`))).status).toBe(404);
  });
});

describe('listWebhookDeliveries', () => {
  it('keeps the deliveries of a deleted job, visible to its organization only', async () => {
    const { customer, viewer } = await newcomer();
    const delivered = await served.submitted({ webhook_url: 'https://hooks.example.com/hook' }, customer);
    const waiting = await served.submitted({ webhook_url: 'https://hooks.example.com/hook' }, customer);
    for (const id of [delivered, waiting]) await served.succeed(id);
    await served.gateway.rows(
      `WITH ended AS (
         UPDATE webhook_delivery SET state = 'delivered', attempt = 1, last_status = 200, ended_at = now()
          WHERE job_id = $1 RETURNING organization_id, id)
       INSERT INTO webhook_attempt (organization_id, delivery_id, number, started_at, status, duration_ms)
       SELECT organization_id, id, 1, now(), 200, 7 FROM ended`,
      [delivered],
    );
    for (const id of [delivered, waiting]) expect((await served.deleteVideo(id, customer)).status).toBe(204);
    const list = async (by: DashboardClient, jobId: string): Promise<CallReply['json'][]> =>
      (await by.call(by.path(`/webhook-deliveries?job_id=${jobId}`))).json.data;
    const [log] = await list(viewer, delivered);
    expect(log).toMatchObject({ job_id: delivered, state: 'delivered', last_status: 200 });
    const { json } = await viewer.call(viewer.path(`/webhook-deliveries/${log?.id}`));
    expect(json.attempts).toMatchObject([{ number: 1, status: 200, duration_ms: 7 }]);
    expect(await list(viewer, waiting)).toMatchObject([{ state: 'withdrawn', next_attempt_at: null }]);
    expect(await list((await newcomer()).viewer, delivered)).toEqual([]);
  });
});

/** Delivery is disabled here, so that a delivery keeps its state. */
describe('redeliverWebhook', () => {
  async function ended(): Promise<{
    readonly developer: DashboardClient;
    readonly jobId: string;
    readonly id: string;
  }> {
    const customer = await served.gateway.customer();
    const { organizationId } = customer;
    const developer = await served.gateway.dashboardUser({ role: 'developer', organizationId });
    const jobId = await served.submitted({ webhook_url: 'https://hooks.example.com/hook' }, customer);
    await served.succeed(jobId);
    const [row] = await served.gateway.rows<{ id: string }>('SELECT id FROM webhook_delivery WHERE job_id = $1', [
      jobId,
    ]);
    return { developer, jobId, id: row?.id ?? '' };
  }
  const redeliver = ({ developer, id }: { developer: DashboardClient; id: string }) =>
    developer.call(developer.path(`/webhook-deliveries/${id}/redeliver`), { method: 'POST' });

  it('makes a waiting delivery due now and keeps its schedule', async () => {
    const waiting = await ended();
    await served.gateway.rows(
      `UPDATE webhook_delivery SET attempt = 3, next_at = now() + interval '30 minutes' WHERE id = $1`,
      [waiting.id],
    );
    const { status, json } = await redeliver(waiting);
    expect([status, json.state, json.attempts]).toEqual([200, 'pending', 3]);
    const [row] = await served.gateway.rows<{ is_due: boolean; prior_attempts: number }>(
      'SELECT next_at <= now() AS is_due, prior_attempts FROM webhook_delivery WHERE id = $1',
      [waiting.id],
    );
    expect(row).toEqual({ is_due: true, prior_attempts: 0 });
  });

  it('restarts the schedule of an exhausted delivery and continues its attempt count', async () => {
    const exhausted = await ended();
    await served.gateway.rows(
      `UPDATE webhook_delivery SET attempt = 8, state = 'exhausted', ended_at = now() WHERE id = $1`,
      [exhausted.id],
    );
    const { status, json } = await redeliver(exhausted);
    expect([status, json.state, json.attempts, json.ended_at]).toEqual([200, 'pending', 8, null]);
    const [row] = await served.gateway.rows<{ prior_attempts: number }>(
      'SELECT prior_attempts FROM webhook_delivery WHERE id = $1',
      [exhausted.id],
    );
    expect(row).toEqual({ prior_attempts: 8 });
  });

  it('returns 409 conflict when the job was deleted', async () => {
    const orphaned = await ended();
    await served.gateway.rows('UPDATE media_job SET deleted_at = now() WHERE id = $1', [orphaned.jobId]);
    const { status, json } = await redeliver(orphaned);
    expect([status, json.error.code]).toEqual([409, 'conflict']);
  });

  it('returns 409 conflict after a thousand attempts', async () => {
    const worn = await ended();
    await served.gateway.rows(
      `UPDATE webhook_delivery SET attempt = 1000, state = 'exhausted', ended_at = now() WHERE id = $1`,
      [worn.id],
    );
    const { status, json } = await redeliver(worn);
    expect([status, json.error.code]).toEqual([409, 'conflict']);
  });
});

describe('cancelJob', () => {
  it('cancels a job under way at any step, releases its hold, and names the user in the audit log', async () => {
    const { customer, viewer } = await newcomer();
    const developer = await member(viewer, 'developer');
    for (const stage of [null, 'claimed', 'running'] as const) {
      const id = await served.submitted({}, customer);
      if (stage !== null) await served.workOn(id, stage);
      const { status, json } = await developer.call(viewer.path(`/jobs/${id}/cancel`), { method: 'POST' });
      expect([status, json.job.status, json.job.cost_micro, json.key_id]).toEqual([200, 'canceled', 0, customer.keyId]);
    }
    const { json } = await viewer.call(viewer.path('/billing/balance'));
    expect([json.reserved_micro, json.available_micro]).toEqual([0, json.balance_micro]);
  });

  it('answers job_not_cancellable for an ended job and one whose provider cannot stop', async () => {
    const { customer, viewer } = await newcomer();
    const developer = await member(viewer, 'developer');
    const ended = await served.submitted({}, customer);
    await served.succeed(ended);
    const accepted = await served.submitted({ model: 'mock/video-basic-1' }, customer);
    await served.workOn(accepted, 'running', 'mock-media-basic');
    for (const id of [ended, accepted]) {
      const reply = await developer.call(viewer.path(`/jobs/${id}/cancel`), { method: 'POST' });
      expect([reply.status, reply.json.error.code]).toEqual([409, 'job_not_cancellable']);
    }
  });
});

describe('deleteJob', () => {
  it('deletes an ended job with its results, and keeps its receipt', async () => {
    const { customer, viewer } = await newcomer();
    const developer = await member(viewer, 'developer');
    const id = await served.submitted({}, customer);
    await served.succeed(id);
    const { request_id: requestId } = (await viewer.call(viewer.path('/jobs'))).json.data[0];
    expect((await developer.call(viewer.path(`/jobs/${id}`), { method: 'DELETE' })).status).toBe(204);
    expect((await viewer.call(viewer.path(`/jobs/${id}`))).status).toBe(404);
    expect((await viewer.call(viewer.path(`/usage/requests/${requestId}`))).status).toBe(200);
  });

  it('answers conflict while the job is under way', async () => {
    const { customer, viewer } = await newcomer();
    const developer = await member(viewer, 'developer');
    const id = await served.submitted({}, customer);
    const reply = await developer.call(viewer.path(`/jobs/${id}`), { method: 'DELETE' });
    expect([reply.status, reply.json.error.code]).toEqual([409, 'conflict']);
    expect((await viewer.call(viewer.path(`/jobs/${id}`))).status).toBe(200);
  });
});

function member({ organizationId }: DashboardClient, role: Role): Promise<DashboardClient> {
  return served.gateway.dashboardUser({ role, organizationId });
}
