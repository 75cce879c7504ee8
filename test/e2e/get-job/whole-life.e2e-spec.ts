import { createHmac } from 'node:crypto';
import type { Input } from 'mediabunny';
import { Webhook } from 'standardwebhooks';
import { WebhookDeliveryService } from '../../../src/webhooks/webhook-delivery.service';
import { WebhookSecretService } from '../../../src/webhooks/webhook-secret.service';
import { until } from '../../faults/figures';
import { PIXEL, PublicHost, respondWith, type SeenRequest } from '../../harness/public-host';
import type { CallReply } from '../../harness/gateway';
import { JobGateway } from '../create-video/job-gateway';

/** From the submission to the webhook, with the default worker and provider, and nothing scripted. */
describe('the whole life of a job', () => {
  let served: JobGateway;
  let host: PublicHost;

  beforeAll(async () => {
    host = await PublicHost.start();
    host.answer = (response, { method }) => {
      if (method === 'GET') respondWith(response, PIXEL);
      else response.writeHead(204).end();
    };
    served = await JobGateway.start({ WORKER: 'inline', OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32' });
  });
  afterAll(async () => {
    await served.stop();
    await host.stop();
  });

  afterEach(() => jest.restoreAllMocks());

  const hooks = (): SeenRequest[] => host.seen.filter(({ method }) => method === 'POST');

  /** All states of a job until its end. */
  async function watch(
    id: string,
  ): Promise<{ readonly statuses: string[]; readonly progress: number[]; readonly job: CallReply['json'] }> {
    const [statuses, progress] = [new Set<string>(), [] as number[]];
    for (;;) {
      const { status, json } = await served.getJob(id);
      // Allows for a busy machine, where the worker runs beside the gateway.
      if (status === 503) continue;
      statuses.add(json.status as string);
      progress.push((json.progress as number | null) ?? 0);
      if (json.completed_at !== null) return { statuses: [...statuses], progress, job: json };
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  async function fetchMedia(url: string): Promise<{ readonly contentType: string | null; readonly input: Input }> {
    // Loaded like the gateway does: a second copy would fail.
    const { ALL_FORMATS, BufferSource, Input: MediaInput } = await import('mediabunny');
    const response = await fetch(url);
    const bytes = Buffer.from(await response.arrayBuffer());
    const input = new MediaInput({ source: new BufferSource(bytes), formats: ALL_FORMATS });
    return { contentType: response.headers.get('content-type'), input };
  }

  it('covers submission, charge, retrieval and deletion', async () => {
    const before = await served.balance();
    const { json, headers } = await served.createVideo({
      prompt: 'a boat',
      duration_seconds: 1,
      resolution: '480p',
      aspect_ratio: '16:9',
      audio: false,
      image_url: host.url('/first.png'),
      input_images: [PIXEL.toString('base64')],
      webhook_url: host.url('/hook'),
      metadata: { order: '7' },
    });
    const { statuses, progress, job } = await watch(json.id as string);
    expect(job.error).toBeNull();
    const order = ['queued', 'submitted', 'running', 'succeeded'];
    expect(statuses).toEqual(order.filter((status) => statuses.includes(status)));
    expect(statuses.at(-1)).toBe('succeeded');
    expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    expect(await served.balance()).toBe(before - (job.cost_micro as number));
    expect(job.cost_micro).toBeGreaterThanOrEqual(2_000);
    expect(job.cost_micro).toBeLessThanOrEqual(3_000);

    const [artifact] = job.artifacts;
    const { contentType, input } = await fetchMedia(artifact.url as string);
    const track = await input.getPrimaryVideoTrack();
    expect([contentType, artifact.content_type]).toEqual(['video/mp4', 'video/mp4']);
    expect([track?.displayWidth, track?.displayHeight]).toEqual([artifact.width, artifact.height]);
    expect(await input.computeDuration()).toBeCloseTo(artifact.duration_seconds as number, 3);
    expect(host.seen.filter(({ method, url }) => method === 'GET' && url === '/first.png')).toHaveLength(1);

    while (hooks().length === 0) await new Promise((resolve) => setTimeout(resolve, 25));
    const [hook] = hooks();
    const { organizationId } = served.customer;
    const secret = await served.service(WebhookSecretService).require(organizationId);
    const signature = createHmac('sha256', secret)
      .update(hook?.body ?? '')
      .digest('hex');
    expect(hook?.headers['x-llm-signature']).toBe(`sha256=${signature}`);
    expect(hook?.headers['x-request-id']).toBe(headers.get('x-request-id'));
    const event = new Webhook(secret).verify(hook?.body ?? '', hook?.headers as Record<string, string>);
    const { artifacts: _told, ...rest } = job;
    expect(event).toMatchObject({ event: 'job.completed', job: { ...rest, metadata: { order: '7' } } });

    expect((await served.deleteVideo(json.id as string)).status).toBe(204);
    expect((await fetch(artifact.url as string)).status).toBe(404);
    expect(await served.objects(served.customer)).toEqual([]);
    expect(await served.gateway.violations()).toEqual([]);
  });

  it('wakes the delivery of its webhook at its end, before the sweep', async () => {
    const wakeForJob = jest.spyOn(served.service(WebhookDeliveryService), 'wakeForJob');
    const { json } = await served.createVideo({ webhook_url: host.url('/woken') });
    const { job } = await watch(json.id as string);
    expect(job.status).toBe('succeeded');
    await until('the wake-up', 5_000, () => wakeForJob.mock.calls.length > 0);
    expect(wakeForJob.mock.calls).toEqual([[served.customer.organizationId, job.id]]);
  });

  it('covers a music job too', async () => {
    const { json } = await served.createMusic({ duration_seconds: 2, format: 'wav', sample_rate: 16_000 });
    const { job } = await watch(json.id as string);
    expect([job.status, job.error, job.artifacts.length]).toEqual(['succeeded', null, 1]);
    const { input } = await fetchMedia(job.artifacts[0].url as string);
    const track = await input.getPrimaryAudioTrack();
    expect([track?.sampleRate, job.artifacts[0].type]).toEqual([16_000, 'audio']);
    expect(await served.gateway.violations()).toEqual([]);
  });

  it('fails without a charge when an image cannot be used, and names the image', async () => {
    const before = await served.balance();
    host.answer = (response, { method }) => {
      if (method === 'GET') response.writeHead(404).end();
      else response.writeHead(204).end();
    };
    const { json } = await served.createVideo({ end_image_url: host.url('/gone.png'), webhook_url: host.url('/hook') });
    const { job } = await watch(json.id as string);
    expect([job.status, job.error.code, job.cost_micro]).toEqual(['failed', 'validation_failed', 0]);
    expect(job.error.message).toContain('end_image_url');
    expect(await served.balance()).toBe(before);
    const delivered = (): boolean => hooks().some(({ body }) => body.includes('job.failed'));
    while (!delivered()) await new Promise((resolve) => setTimeout(resolve, 25));
  });
});
