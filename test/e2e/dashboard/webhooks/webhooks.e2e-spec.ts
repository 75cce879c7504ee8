import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type CallReply, TestGateway } from '../../../harness/gateway';
import { PublicHost, type SeenRequest } from '../../../harness/public-host';

let gateway: TestGateway;
let host: PublicHost;
beforeAll(async () => {
  host = await PublicHost.start();
  gateway = await TestGateway.start({ WORKER: 'inline', OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32' });
});
afterAll(async () => {
  await gateway.stop();
  await host.stop();
});
beforeEach(() => answerWith(204));

function answerWith(status: number): void {
  host.answer = (response) => response.writeHead(status).end();
}

function post(user: DashboardClient, below: string, body?: object): Promise<CallReply> {
  return user.call(user.path(below), { method: 'POST', body });
}

async function until<Result>(look: () => Promise<Result | undefined>): Promise<Result> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** The delivery with its attempts, once it has this many. */
function afterAttempts(user: DashboardClient, id: string, count: number): Promise<CallReply['json']> {
  return until(async () => {
    const { json } = await user.call(user.path(`/webhook-deliveries/${id}`));
    return json.attempts.length >= count ? json : undefined;
  });
}

const received = (id: string): SeenRequest[] => host.seen.filter(({ headers }) => headers['webhook-id'] === id);

describe('the webhook secret', () => {
  it('is revealed to exactly one of several concurrent callers, and never again', async () => {
    const admin = await gateway.dashboardUser({ role: 'admin' });
    const { json: before } = await admin.call(admin.path('/webhook-secret'));
    expect(before).toEqual({ object: 'webhook_secret', exists: false, created_at: null, revealed_at: null });

    const replies = await Promise.all(Array.from({ length: 12 }, () => post(admin, '/webhook-secret/reveal')));
    const revealed = replies.filter(({ status }) => status === 200).map(({ json }) => json);
    expect(revealed).toEqual([expect.objectContaining({ secret: expect.stringMatching(/^whsec_/) })]);
    const refused = replies.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, json }) => `${status} ${json.error.code}`))).toEqual(
      new Set(['409 conflict']),
    );

    const { json: after } = await admin.call(admin.path('/webhook-secret'));
    const [{ created_at, revealed_at }] = revealed;
    expect(after).toEqual({ object: 'webhook_secret', exists: true, created_at, revealed_at });
  });

  it('is replaced by a rotation, which counts as revealed, and is not in the audit log', async () => {
    const admin = await gateway.dashboardUser({ role: 'admin' });
    const { json: first } = await post(admin, '/webhook-secret/reveal');
    const { json: second } = await post(admin, '/webhook-secret/rotate');
    expect(second.secret).not.toBe(first.secret);
    expect((await post(admin, '/webhook-secret/reveal')).status).toBe(409);
    const audited = JSON.stringify(
      await gateway.rows('SELECT * FROM audit_entry WHERE organization_id = $1', [admin.organizationId]),
    );
    for (const { secret } of [first, second]) expect(audited).not.toContain((secret as string).slice('whsec_'.length));
  });

  it('returns 409 conflict when it cannot be decrypted, until a rotation', async () => {
    const admin = await gateway.dashboardUser({ role: 'admin' });
    await gateway.rows(
      `INSERT INTO organization_webhook_secret (organization_id, sealed) VALUES ($1, 'v1.other.key')`,
      [admin.organizationId],
    );
    expect((await post(admin, '/webhook-secret/reveal')).status).toBe(409);
    expect((await admin.call(admin.path('/webhook-secret'))).json.revealed_at).toBeNull();
    expect((await post(admin, '/webhook-secret/rotate')).status).toBe(200);
  });
});

describe('a test event', () => {
  it('is signed with the secret, marked as a test and logged', async () => {
    const admin = await gateway.dashboardUser({ role: 'admin' });
    const { json: revealed } = await post(admin, '/webhook-secret/reveal');
    const url = host.url('/hook?token=private');
    const reply = await post(admin, '/webhook-test-events', { url });
    expect([reply.status, reply.json.event, reply.json.job_id, reply.json.state]).toEqual([
      202,
      'webhook.test',
      null,
      'pending',
    ]);

    const id = reply.json.id as string;
    const { delivery, attempts } = await afterAttempts(admin, id, 1);
    expect(delivery).toMatchObject({
      id,
      url,
      state: 'delivered',
      attempts: 1,
      last_status: 204,
      next_attempt_at: null,
    });
    expect(attempts).toMatchObject([{ number: 1, status: 204, error: null }]);
    const [hook] = received(id);
    if (hook === undefined) throw new Error('nothing arrived');
    const event = new Webhook(revealed.secret as string).verify(hook.body, hook.headers as Record<string, string>);
    expect(event).toEqual({
      event: 'webhook.test',
      test: true,
      org_id: admin.organizationId,
      message: expect.stringContaining('test'),
    });
    expect(hook.headers['x-request-id']).toBe(reply.headers.get('x-request-id'));
    const { json: list } = await admin.call(admin.path('/webhook-deliveries?event=webhook.test&state=delivered'));
    expect(list).toEqual({ object: 'list', data: [delivery], next_cursor: null });
    const audited = await gateway.rows('SELECT after FROM audit_entry WHERE request_id = $1', [
      hook.headers['x-request-id'],
    ]);
    expect(JSON.stringify(audited)).not.toContain('private');
  });

  it.each([
    ['https://192.168.1.1/hook', 'ssrf_blocked'],
    ['https://[::1]/hook', 'ssrf_blocked'],
    ['https://metadata.google.internal/', 'ssrf_blocked'],
    ['https://user:password@hooks.example.com/', 'validation_failed'],
    ['http://hooks.example.com/', 'validation_failed'],
    [7, 'validation_failed'],
  ])('to %s is refused before anything is stored', async (url, code) => {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    const { status, json } = await post(developer, '/webhook-test-events', { url });
    expect([status, json.error.code, json.error.param]).toEqual([400, code, 'url']);
    expect((await developer.call(developer.path('/webhook-deliveries'))).json.data).toEqual([]);
  });

  it('is limited to ten a minute per organization, under concurrency', async () => {
    const [developer, outsider] = [await gateway.dashboardUser(), await gateway.dashboardUser()];
    const url = host.url('/hook');
    const replies = await Promise.all(
      Array.from({ length: 14 }, () => post(developer, '/webhook-test-events', { url })),
    );
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(10);
    expect(refused).toHaveLength(4);
    for (const { json, headers } of refused) {
      expect(json.error.code).toBe('rate_limited');
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await post(outsider, '/webhook-test-events', { url })).status).toBe(202);
    await gateway.rows(
      `UPDATE webhook_delivery SET created_at = created_at - interval '61 seconds' WHERE organization_id = $1`,
      [developer.organizationId],
    );
    expect((await post(developer, '/webhook-test-events', { url })).status).toBe(202);
  });
});

describe('a redelivery', () => {
  it('keeps the delivery id and continues its log', async () => {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    const { json } = await post(developer, '/webhook-test-events', { url: host.url('/hook') });
    const id = json.id as string;
    await afterAttempts(developer, id, 1);
    expect((await post(developer, `/webhook-deliveries/${id}/redeliver`)).status).toBe(200);
    const { delivery, attempts } = await afterAttempts(developer, id, 2);
    expect([delivery.state, delivery.attempts]).toEqual(['delivered', 2]);
    expect(attempts.map(({ number }: { number: number }) => number)).toEqual([1, 2]);
    expect(received(id)).toHaveLength(2);
  });

  it('is limited to sixty a minute per organization', async () => {
    const [developer, outsider] = [await gateway.dashboardUser(), await gateway.dashboardUser()];
    const redeliver = async (user: DashboardClient) =>
      (await post(user, `/webhook-deliveries/${randomUUID()}/redeliver`)).status;
    const statuses = await Promise.all(Array.from({ length: 65 }, () => redeliver(developer)));
    expect(statuses.filter((status) => status === 404)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    expect(await redeliver(outsider)).toBe(404);
  });

  it('restarts the retry schedule of an ended delivery', async () => {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    answerWith(410);
    const { json } = await post(developer, '/webhook-test-events', { url: host.url('/hook') });
    const id = json.id as string;
    expect((await afterAttempts(developer, id, 1)).delivery.state).toBe('gone');

    answerWith(500);
    await post(developer, `/webhook-deliveries/${id}/redeliver`);
    const { delivery, attempts } = await afterAttempts(developer, id, 2);
    expect([delivery.state, delivery.last_status, delivery.last_error]).toEqual(['pending', 500, 'rejected']);
    // The first pause of the schedule is 5 s, the second 5 min.
    const pauseMs = Date.parse(delivery.next_attempt_at as string) - Date.parse(attempts[1].started_at as string);
    expect(pauseMs).toBeLessThan(60_000);
  });
});
