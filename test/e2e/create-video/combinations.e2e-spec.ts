import { randomUUID } from 'node:crypto';
import { JobGateway } from './job-gateway';

/** Options that a model supports, but not together. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let jobs: JobGateway;
beforeAll(async () => {
  const keys = { XAI_API_KEY: 'xai-test', RUNWAY_API_KEY: 'runway-test' };
  jobs = await JobGateway.start({ ...keys, PUBLIC_BASE_URL: 'https://gateway.example' });
});
afterAll(() => jobs.stop());

describe('options that no provider of the model can combine', () => {
  it.each([
    [
      { model: 'xai/grok-imagine-video-1.5', resolution: '1080p', input_images: [PIXEL] },
      'resolution',
      { supported: ['480p', '720p'] },
    ],
    [{ model: 'runway/gen-4.5', aspect_ratio: '1:1' }, 'aspect_ratio', { supported: ['16:9', '9:16'] }],
    [{ model: 'xai/grok-imagine-video-1.5', end_image_url: 'https://example.com/a.png' }, 'end_image_url', undefined],
  ])('are refused with their field before anything is held: %j', async (body, param, details) => {
    const before = await jobs.balance();
    const { status, json } = await jobs.createVideo(body, { key: randomUUID() });
    expect([status, json.error]).toMatchObject([
      400,
      { code: 'validation_failed', param, ...(details && { details }) },
    ]);
    expect([await jobs.balance(), await jobs.jobCount(jobs.customer)]).toEqual([before, 0]);
  });

  it('are accepted one by one', async () => {
    const model = 'xai/grok-imagine-video-1.5';
    const bodies = [{ resolution: '1080p' }, { resolution: '720p', input_images: [PIXEL] }];
    const replies = await Promise.all(bodies.map((body) => jobs.submitted({ model, ...body })));
    expect(new Set(replies).size).toBe(2);
  });
});
