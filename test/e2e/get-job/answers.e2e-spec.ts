import { JobWebhookBody } from '../../../src/media-jobs/job-webhook-body';
import { until } from '../../faults/figures';
import { JobGateway, MUSIC, RESULT, VIDEO } from '../create-video/job-gateway';
import { schemaValidator } from '../../harness/openapi-validator';

let served: JobGateway;

beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

const WITHIN_MS = 60_000;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('a job', () => {
  it('is returned with all fields', async () => {
    const id = await served.submitted({ metadata: { a: 'b' }, webhook_url: 'https://hooks.example/a' });
    const { status, json } = await served.getJob(id);
    expect(status).toBe(200);
    expect(json).toEqual({
      id,
      object: 'video.generation',
      request_id: `req_${id.replaceAll('-', '')}`,
      org_id: served.customer.organizationId,
      kind: 'video',
      model: 'mock/video-1',
      status: 'queued',
      progress: null,
      estimated_cost_micro: 15_000,
      max_cost_micro: 15_000,
      cost_micro: 0,
      error: null,
      params: { prompt: 'a boat', duration_seconds: 5, resolution: '480p', audio: false },
      artifacts: [],
      webhook_url: 'https://hooks.example/a',
      metadata: { a: 'b' },
      created_at: expect.stringMatching(ISO),
      started_at: null,
      completed_at: null,
      expires_at: expect.stringMatching(ISO),
    });
  });

  it('is identical at the route of its kind', async () => {
    const video = await served.submitted();
    const music = (await served.createMusic()).json.id as string;
    for (const [id, path] of [
      [video, VIDEO],
      [music, MUSIC],
    ] as const) {
      const own = await served.gateway.call(`${path}/${id}`, { key: served.customer.key });
      expect(own.json).toEqual((await served.getJob(id)).json);
    }
  });

  it.each(['claimed', 'submitted', 'running', 'finalizing'] as const)('is returned when it is %s', async (stage) => {
    const id = await served.submitted();
    await served.workOn(id, stage);
    const { json } = await served.getJob(id);
    const statuses = { claimed: 'queued', submitted: 'submitted', running: 'running', finalizing: 'running' };
    expect([json.status, json.completed_at, json.artifacts]).toEqual([statuses[stage], null, []]);
    expect(json.started_at).toEqual(stage === 'claimed' ? null : expect.stringMatching(ISO));
    expect(json.progress).toBe(stage === 'running' || stage === 'finalizing' ? 40 : null);
  });

  it('expires and releases its hold without a running worker', async () => {
    const customer = await served.gateway.customer();
    const before = await served.balance(customer);
    const id = await served.submitted({}, customer);
    expect(await served.balance(customer)).toBeLessThan(before);
    await served.letExpire(id);
    await until(
      'the end of the job',
      WITHIN_MS,
      async () => (await served.getJob(id, customer)).json.status === 'expired',
    );
    expect(await served.balance(customer)).toBe(before);
  });

  it('that failed has a reason and costs nothing', async () => {
    const id = await served.submitted();
    const error = { code: 'provider_error', message: 'The provider could not make it.' } as const;
    await served.finish(await served.workOn(id, 'running'), { status: 'failed', error });
    const { json } = await served.getJob(id);
    expect(json).toMatchObject({ status: 'failed', error, cost_micro: 0, artifacts: [], progress: 40 });
    expect(json.completed_at).toMatch(ISO);
  });
});

describe('the results of a succeeded job', () => {
  it('can be fetched from a fresh URL each time', async () => {
    const id = await served.submitted();
    await served.succeed(id, 12_345n);
    const first = await served.getJob(id);
    expect(first.json).toMatchObject({ status: 'succeeded', cost_micro: 12_345, progress: 100, error: null });
    const [artifact] = first.json.artifacts;
    expect(artifact).toEqual({
      id: expect.any(String),
      type: 'video',
      content_type: 'video/mp4',
      size_bytes: RESULT.length,
      width: 720,
      height: 720,
      duration_seconds: 5.04,
      url: expect.any(String),
      expires_at: expect.stringMatching(ISO),
    });
    const inMs = Date.parse(artifact.expires_at as string) - Date.now();
    expect(inMs).toBeGreaterThan(3_500_000);
    expect(inMs).toBeLessThanOrEqual(3_600_000);
    const fetched = await fetch(artifact.url as string);
    expect(Buffer.from(await fetched.arrayBuffer()).equals(RESULT)).toBe(true);
    expect(fetched.headers.get('content-type')).toBe('video/mp4');
  });

  it('have URLs that end with the retention of the result', async () => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({}, customer);
    await served.succeed(id);
    const [stored] = await served.gateway.rows<{ delete_at: Date }>(
      `UPDATE stored_object SET delete_at = now() + interval '10 minutes' WHERE organization_id = $1 RETURNING delete_at`,
      [customer.organizationId],
    );
    const [artifact] = (await served.getJob(id, customer)).json.artifacts;
    const endMs = stored?.delete_at.getTime() ?? 0;
    expect(Date.parse(artifact.expires_at as string)).toBe(Math.floor(endMs / 1_000) * 1_000);
    expect((await fetch(artifact.url as string)).status).toBe(200);
  });

  it('are absent after they expire, while the job remains', async () => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({}, customer);
    await served.succeed(id);
    expect((await served.getJob(id, customer)).json.artifacts).toHaveLength(1);
    await served.gateway.rows(
      `UPDATE stored_object SET delete_at = now() - interval '1 second' WHERE organization_id = $1`,
      [customer.organizationId],
    );
    expect((await served.getJob(id, customer)).json).toMatchObject({ status: 'succeeded', artifacts: [] });
  });

  it('are sent to webhooks in the same form', async () => {
    const id = await served.submitted();
    await served.succeed(id);
    const { organizationId } = served.customer;
    const delivery = { jobId: id, organizationId, event: 'job.completed' } as const;
    const body = await served.service(JobWebhookBody).build(delivery);
    const event = JSON.parse(String(body?.bytes)) as { event: string; job: { artifacts: { url: string }[] } };
    expect(schemaValidator('JobEvent')(event)).toBe(true);
    expect(body?.requestId).toBe(`req_${id.replaceAll('-', '')}`);
    const { artifacts, ...rest } = (await served.getJob(id)).json;
    expect(event).toMatchObject({ event: 'job.completed', job: rest });
    expect((await fetch(event.job.artifacts[0]?.url ?? '')).status).toBe(200);
    expect(artifacts).toHaveLength(1);
    expect((await served.deleteVideo(id)).status).toBe(204);
    expect(await served.service(JobWebhookBody).build(delivery)).toBeNull();
  });
});

/** API1: for every route with a job id. */
describe('jobs of other callers', () => {
  const routes = [
    ['GET', VIDEO],
    ['GET', MUSIC],
    ['GET', '/v1/jobs'],
    ['DELETE', VIDEO],
    ['DELETE', MUSIC],
  ] as const;

  it.each(routes)(
    '%s %s returns the same 404 for foreign, unknown, malformed ids and ids of the other kind',
    async (method, path) => {
      const other = await served.gateway.customer();
      const foreign =
        path === MUSIC
          ? (await served.createMusic({}, { customer: other })).json.id
          : await served.submitted({}, other);
      const otherKind = path === MUSIC ? await served.submitted() : (await served.createMusic()).json.id;
      const ids = [
        foreign as string,
        '01a1fee0-59ea-708e-ba17-570fe6b8d8fd',
        ...(path === '/v1/jobs' ? [] : [otherKind as string]),
        'no-id',
        (foreign as string).toUpperCase(),
        `${foreign as string}%00`,
        `${foreign as string}%20`,
        '%27%20OR%201=1--',
        'a'.repeat(90),
      ];
      const answers = new Set<string>();
      for (const id of ids) {
        const { status, json } = await served.gateway.call(`${path}/${id}`, { key: served.customer.key, method });
        answers.add(JSON.stringify([status, { ...json.error, request_id: '' }]));
      }
      expect(answers.size).toBe(1);
      expect([...answers][0]).toContain('[404,{"type":"not_found_error","code":"not_found"');
      expect((await served.getJob(foreign as string, other)).json.status).toBe('queued');
    },
  );

  it.each(routes)('%s %s is refused to a key that may not use the model or its kind', async (method, path) => {
    const customer = await served.gateway.customer();
    const create = path === MUSIC ? served.createMusic({}, { customer }) : served.createVideo({}, { customer });
    const { id } = (await create).json as { id: string };
    for (const [settings, code] of [
      [{ allowedModalities: ['text'] }, 'modality_not_allowed'],
      [{ allowedModels: ['mock/chat-1'] }, 'model_not_allowed'],
    ] as const) {
      const { key } = await served.anotherKey(customer, settings);
      const reply = await served.gateway.call(`${path}/${id}`, { key, method });
      expect([reply.status, reply.json.error.code]).toEqual([403, code]);
    }
    expect((await served.getJob(id, customer)).json.status).toBe('queued');
  });
});
