import { JobGateway, MUSIC } from '../create-video/job-gateway';

let served: JobGateway;

beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

describe('202', () => {
  it('returns the submission and holds exactly the estimate', async () => {
    const before = await served.balance();
    const { status, json, headers } = await served.createMusic({ duration_seconds: 2.5 });
    expect([status, json.object, json.status, json.model]).toEqual([202, 'music.generation', 'queued', 'mock/music-1']);
    expect([json.estimated_cost_micro, headers.get('x-llm-cost-micro')]).toEqual([1_250, '1250']);
    expect(await served.balance()).toBe(before - 1_250);
  });

  it('stores the parameters with their defaults', async () => {
    const paramsOf = async (body: object): Promise<object> =>
      (await served.getJob((await served.createMusic(body)).json.id as string)).json.params as object;
    const usual = { prompt: 'a waltz', duration_seconds: 30, format: 'mp3', instrumental: false };
    expect(await paramsOf({})).toEqual(usual);
    const chosen = { duration_seconds: 600, format: 'flac', sample_rate: 44_100, instrumental: true };
    expect(await paramsOf({ ...chosen, image_url: 'https://127.0.0.1/', input_images: 7 })).toEqual({
      ...usual,
      ...chosen,
    });
  });

  it('is replayed with the same bytes', async () => {
    const [first, again] = [await served.createMusic({}, { key: 'k' }), await served.createMusic({}, { key: 'k' })];
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([202, first.text, 'true']);
  });
});

describe('refusals', () => {
  it.each<[string, object, number, string, string]>([
    ['less than a second', { duration_seconds: 0.9 }, 400, 'validation_failed', 'duration_seconds'],
    ['more than ten minutes', { duration_seconds: 601 }, 400, 'validation_failed', 'duration_seconds'],
    ['an unknown format', { format: 'ogg' }, 400, 'validation_failed', 'format'],
    ['a format of other models', { model: 'mock/music-sync-1', format: 'flac' }, 400, 'validation_failed', 'format'],
    ['an unsupported sample rate', { sample_rate: 8_000 }, 400, 'validation_failed', 'sample_rate'],
    ['a cap below the estimate', { max_cost_micro: 14_999 }, 400, 'validation_failed', 'max_cost_micro'],
    ['a model of another kind', { model: 'mock/video-1' }, 400, 'validation_failed', 'model'],
    ['a private webhook', { webhook_url: 'https://10.0.0.1/' }, 400, 'ssrf_blocked', 'webhook_url'],
    ['an unknown model', { model: 'mock/none' }, 404, 'model_not_found', 'model'],
  ])('%s', async (_case, body, status, code, param) => {
    const before = await served.balance();
    const reply = await served.createMusic(body);
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([status, code, param]);
    expect(await served.balance()).toBe(before);
  });
});

describe('the music job routes', () => {
  const read = (id: string, method = 'GET') =>
    served.gateway.call(`${MUSIC}/${id}`, { key: served.customer.key, method });

  it('get, cancel and delete the job', async () => {
    const id = (await served.createMusic()).json.id as string;
    const reply = await read(id);
    expect([reply.status, reply.json.kind, reply.json.object]).toEqual([200, 'music', 'music.generation']);
    expect((await served.gateway.call(`/v1/video/generations/${id}`, { key: served.customer.key })).status).toBe(404);
    const canceled = await read(id, 'DELETE');
    expect([canceled.status, canceled.json.status]).toEqual([200, 'canceled']);
    expect([(await read(id, 'DELETE')).status, (await read(id)).status]).toEqual([204, 404]);
  });

  it('return audio artifacts without width and height', async () => {
    const id = (await served.createMusic()).json.id as string;
    await served.succeed(id);
    const [artifact] = (await read(id)).json.artifacts as [Record<string, unknown>];
    expect(artifact).toMatchObject({ type: 'audio', content_type: 'audio/mpeg', width: null, height: null });
  });
});
