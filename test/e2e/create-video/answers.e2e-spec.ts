import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { IdempotencyService } from '../../../src/auth/idempotency/idempotency.service';
import { JobMoneyRepository } from '../../../src/media-jobs/job-money.repository';
import { MEDIA_JOB_QUEUE } from '../../../src/media-jobs/job-wake-ups';
import { until } from '../../faults/figures';
import { JobGateway, MUSIC, VIDEO } from './job-gateway';
import { PIXEL } from '../../harness/public-host';

let served: JobGateway;

beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

const PNG = PIXEL.toString('base64');
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('202', () => {
  it('returns the submission only, and holds one and a half estimates', async () => {
    const before = await served.balance();
    const { status, json, headers } = await served.createVideo({
      duration_seconds: 3,
      resolution: '480p',
      audio: true,
    });
    expect(status).toBe(202);
    expect(json).toEqual({
      id: expect.stringMatching(UUID),
      object: 'video.generation',
      status: 'queued',
      model: 'mock/video-1',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      estimated_cost_micro: 13_500,
    });
    expect(headers.get('x-llm-model')).toBe('mock/video-1');
    expect(headers.get('x-llm-cost-micro')).toBe('13500');
    expect(headers.get('x-request-id')).toBe(`req_${(json.id as string).replaceAll('-', '')}`);
    expect(headers.get('idempotent-replayed')).toBeNull();
    expect(await served.balance()).toBe(before - 13_500);
  });

  it('stores the parameters with their defaults', async () => {
    const metadata = { order: '7', '': '' };
    const submitted = await served.submitted({
      prompt: 'a boat 🚤',
      seed: 7,
      user: 'x',
      metadata,
      image_url: 'https://first.example/a.png',
      input_images: ['https://second.example/b.png'],
      webhook_url: 'https://hooks.example/a',
      max_cost_micro: 15_000,
      routing: { strategy: 'price' },
    });
    const { json } = await served.getJob(submitted);
    expect(json).toMatchObject({ metadata, webhook_url: 'https://hooks.example/a', max_cost_micro: 15_000 });
    expect(json.params).toEqual({
      prompt: 'a boat 🚤',
      duration_seconds: 5,
      resolution: '480p',
      audio: false,
      image_url: 'https://first.example/a.png',
      input_images: ['https://second.example/b.png'],
    });
  });

  it('holds no more than max_cost_micro', async () => {
    // Five seconds cost 10,000; the hold adds a half.
    const { json } = await served.createVideo({ max_cost_micro: 10_001 });
    expect(json.estimated_cost_micro).toBe(10_001);
    expect((await served.getJob(json.id as string)).json).toMatchObject({
      estimated_cost_micro: 10_001,
      max_cost_micro: 10_001,
    });
    const generous = await served.createVideo({ max_cost_micro: 1_000_000 });
    expect(generous.json.estimated_cost_micro).toBe(15_000);
    expect((await served.getJob(generous.json.id as string)).json.max_cost_micro).toBe(1_000_000);
  });

  it('expires a day later', async () => {
    const { json } = await served.getJob(await served.submitted());
    expect(Date.parse(json.expires_at as string) - Date.parse(json.created_at as string)).toBe(86_400_000);
  });

  it('occupies no concurrency slot while the job runs', async () => {
    const customer = await served.gateway.customer({ concurrency: 1 });
    await served.submitted({}, customer);
    await served.submitted({}, customer);
    expect(await served.jobCount(customer)).toBe(2);
  });

  it('wakes a worker', async () => {
    const queue = served.service<Queue>(getQueueToken(MEDIA_JOB_QUEUE));
    // A wake-up sent before the queue is connected is lost; the sweep compensates.
    await queue.waitUntilReady();
    const id = await served.submitted();
    await until('the wake-up', 10_000, async () => (await queue.getJob(id)) !== undefined);
    const { organizationId } = await served.job(id);
    expect((await queue.getJob(id))?.data).toEqual({ organizationId, id });
  });

  it('may use deployments of fallback models that produce exactly the same output', async () => {
    const routeOf = async (body: object): Promise<number> => {
      const routing = { models: ['mock/video-basic-1'] };
      return (await served.job(await served.submitted({ ...body, routing }))).route.length;
    };
    expect(await routeOf({ duration_seconds: 4, resolution: '480p' })).toBe(2);
    expect(await routeOf({ duration_seconds: 5, resolution: '480p' })).toBe(1);
    expect(await routeOf({ duration_seconds: 4, resolution: '720p' })).toBe(1);
    expect(await routeOf({ duration_seconds: 4, audio: true })).toBe(1);
    expect(await routeOf({ duration_seconds: 4, image_url: 'https://a.example/a.png' })).toBe(1);
  });
});

describe('images in the request', () => {
  const sent = [PNG, 'https://a.example/a.png', `data:image/png;base64,${PNG}`];
  const bytes = Buffer.from(PNG, 'base64').length;

  it('are stored separately from the job, which shows their type and size', async () => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({ input_images: sent }, customer);
    const placeholder = `data:image/png;bytes=${bytes}`;
    expect((await served.getJob(id, customer)).json.params.input_images).toEqual([placeholder, sent[1], placeholder]);
    const prefix = `video/${customer.organizationId}/${id}`;
    expect(await served.objects(customer)).toEqual([`${prefix}/900.png`, `${prefix}/902.png`]);
  });

  it('are not stored for a job that is not accepted', async () => {
    const customer = await served.gateway.customer({}, 14_999n);
    expect((await served.createVideo({ input_images: sent }, { customer })).status).toBe(402);
    expect(await served.objects(customer)).toEqual([]);
  });

  it('are not stored twice when a concurrent request at another process wins, with the same or another body', async () => {
    const customer = await served.gateway.customer();
    const options = { customer, key: 'faster' };
    const first = await served.createVideo({ input_images: [PNG] }, options);
    const statuses: number[] = [];
    for (const body of [{ input_images: [PNG] }, { input_images: [PNG, PNG] }]) {
      const look = jest.spyOn(served.service(IdempotencyService), 'lookUp').mockResolvedValueOnce(null);
      const second = await served.createVideo(body, options);
      look.mockRestore();
      statuses.push(second.status);
      expect(second.text === first.text).toBe(second.headers.get('idempotent-replayed') === 'true');
    }
    expect(statuses).toEqual([202, 409]);
    expect(await served.objects(customer)).toEqual([
      `video/${customer.organizationId}/${first.json.id as string}/900.png`,
    ]);
  });

  it('stay when the database response is lost, because the job may exist: the key shows it', async () => {
    const customer = await served.gateway.customer();
    const money = served.service(JobMoneyRepository);
    const submit = jest.spyOn(money, 'submit').mockImplementationOnce(async (submission) => {
      await money.submit(submission);
      throw new GatewayError('service_unavailable', 'The answer is lost.');
    });
    const lost = await served.createVideo({ input_images: [PNG] }, { customer, key: 'lost' });
    submit.mockRestore();
    expect(lost.status).toBe(503);
    const again = await served.createVideo({ input_images: [PNG] }, { customer, key: 'lost' });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    const [key] = await served.objects(customer);
    expect(key).toBe(`video/${customer.organizationId}/${again.json.id as string}/900.png`);
  });

  it('are deleted with the job', async () => {
    const customer = await served.gateway.customer();
    const id = await served.submitted({ input_images: [PNG] }, customer);
    expect((await served.deleteVideo(id, customer)).status).toBe(200);
    expect((await served.deleteVideo(id, customer)).status).toBe(204);
    expect(await served.objects(customer)).toEqual([]);
  });
});

describe('a repeated Idempotency-Key', () => {
  const body = { metadata: { a: '1', b: '2' }, duration_seconds: 2 };

  it('replays the same bytes under a new request id, and holds nothing more', async () => {
    const key = 'once';
    const first = await served.createVideo(body, { key });
    const before = await served.balance();
    const text = `{"prompt":"a boat", "duration_seconds":2.0, "model":"mock/video-1","metadata":{"b":"2","a":"1"}}`;
    const again = await served.gateway.call(VIDEO, {
      key: served.customer.key,
      headers: { 'idempotency-key': key },
      body: text,
    });
    expect(again.status).toBe(202);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    const repeated = ['content-type', 'x-llm-model', 'x-llm-cost-micro'];
    expect(repeated.map((name) => again.headers.get(name))).toEqual(repeated.map((name) => first.headers.get(name)));
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await served.balance()).toBe(before);
  });

  it('replays also after the job has ended or was deleted', async () => {
    const key = 'and-deleted';
    const first = await served.createVideo(body, { key });
    const id = first.json.id as string;
    for (const status of [200, 204]) {
      expect((await served.deleteVideo(id)).status).toBe(status);
      const again = await served.createVideo(body, { key });
      expect([again.status, again.text]).toEqual([202, first.text]);
    }
    expect((await served.getJob(id)).status).toBe(404);
  });

  it('replays without balance, free limits or hosts', async () => {
    const customer = await served.gateway.customer({ requestsPerMinute: 1 }, 15_000n);
    const first = await served.createVideo({}, { customer, key: 'poor' });
    const again = await served.createVideo({}, { customer, key: 'poor' });
    expect([first.status, again.status, again.text]).toEqual([202, 202, first.text]);
    expect(await served.balance(customer)).toBe(0);
  });

  it('returns 409 for another body', async () => {
    const key = 'another';
    await served.createVideo(body, { key });
    for (const other of [
      { ...body, duration_seconds: 3 },
      { ...body, unknown: true },
    ]) {
      const { status, json, headers } = await served.createVideo(other, { key });
      expect([status, json.error.code, json.error.retry_after]).toEqual([409, 'idempotency_conflict', undefined]);
      expect(headers.get('retry-after')).toBeNull();
    }
  });

  it('is a different key at another endpoint and in another organization', async () => {
    const key = 'elsewhere';
    const customer = await served.gateway.customer();
    const replies = [
      await served.createVideo({}, { key }),
      await served.createMusic({}, { key }),
      await served.createVideo({}, { key, customer }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(replies.map(({ json }) => json.id as string)).size).toBe(3);
  });

  it.each([[VIDEO], [MUSIC]])('is required by %s', async (path) => {
    const model = path === VIDEO ? 'mock/video-1' : 'mock/music-1';
    for (const headers of [{}, { 'idempotency-key': '' }] as Record<string, string>[]) {
      const reply = await served.gateway.call(path, {
        key: served.customer.key,
        headers,
        body: { model, prompt: 'a' },
      });
      expect([reply.status, reply.json.error.code]).toEqual([400, 'idempotency_key_required']);
    }
  });
});
