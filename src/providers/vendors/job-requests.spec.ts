import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { videoSpec } from '../../../test/conformance/job-requests';
import { playJobs } from '../../../test/conformance/job-upstream';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { SUBJECTS } from '../../../test/conformance/subjects';
import type { ImageFile } from '../contract/images';
import type { AsyncJobAdapter, VideoSpec } from '../contract/media-job';
import type { Provider } from '../contract/provider';
import { klingAuthorization } from './kling/kling-token';

const image = (bytes: string): ImageFile => ({ bytes: Buffer.from(bytes), contentType: 'image/png' });
const sizedImage = (length: number): ImageFile => ({ bytes: Buffer.alloc(length), contentType: 'image/png' });
const FIRST = image('first');
const LAST = image('last');
const REFERENCE = image('reference');
const dataUrl = ({ bytes }: ImageFile) => `data:image/png;base64,${bytes.toString('base64')}`;
const base64 = ({ bytes }: ImageFile) => bytes.toString('base64');
const TOKEN = 'token-1';

let upstream: FakeUpstream;
let provider: Provider | null = null;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});
afterEach(async () => {
  await provider?.close();
  await upstream.stop();
});

/** Submits a video and returns what the vendor received last. */
async function sent(id: string, spec: Partial<VideoSpec>, upstreamModel: string) {
  const adapter = open(id);
  await adapter.submit(videoSpec({ prompt: 'a lighthouse', ...spec }), TOKEN, providerCall({ upstreamModel }));
  const [received] = upstream.received.slice(-1);
  if (received === undefined) throw new Error('nothing was sent');
  const { method, url, headers, body } = received;
  return { line: `${method} ${url}`, headers, body: JSON.parse(body) as unknown };
}

function open(id: string): AsyncJobAdapter {
  const subject = SUBJECTS.find(({ definition }) => definition.id === id);
  if (subject?.jobVendor === undefined) throw new Error(`${id} has no row`);
  upstream.answer = playJobs(subject.jobVendor);
  provider = subject.definition.create(subject.environment(upstream.origin));
  return provider?.video as AsyncJobAdapter;
}

describe('a video request', () => {
  it.each<[id: string, model: string, spec: Partial<VideoSpec>, line: string, body: object]>([
    [
      'xai',
      'grok-imagine-video-1.5',
      { durationSeconds: 6, resolution: '720p', firstFrame: FIRST, lastFrame: LAST },
      'POST /v1/videos/generations',
      {
        model: 'grok-imagine-video-1.5',
        prompt: 'a lighthouse',
        duration: 6,
        resolution: '720p',
        generate_audio: false,
        image: { url: dataUrl(FIRST) },
        last_frame: { url: dataUrl(LAST) },
      },
    ],
    [
      'xai',
      'grok-imagine-video-1.5',
      {
        durationSeconds: 6,
        resolution: null,
        aspectRatio: '9:16',
        audio: true,
        references: Array<ImageFile>(14).fill(REFERENCE),
      },
      'POST /v1/videos/generations',
      {
        model: 'grok-imagine-video-1.5',
        prompt: 'a lighthouse',
        duration: 6,
        aspect_ratio: '9:16',
        reference_images: Array.from({ length: 14 }, () => ({ url: dataUrl(REFERENCE) })),
      },
    ],
    [
      'runway',
      'gen4.5',
      { durationSeconds: 5, resolution: '720p', aspectRatio: '1:1', firstFrame: FIRST },
      'POST /v1/image_to_video',
      {
        model: 'gen4.5',
        promptText: 'a lighthouse',
        ratio: '960:960',
        duration: 5,
        promptImage: [{ uri: dataUrl(FIRST), position: 'first' }],
      },
    ],
    [
      'runway',
      'gen4.5',
      { durationSeconds: 5, resolution: '720p', aspectRatio: '9:16' },
      'POST /v1/text_to_video',
      { model: 'gen4.5', promptText: 'a lighthouse', ratio: '720:1280', duration: 5 },
    ],
    [
      'minimax',
      'MiniMax-H3',
      { durationSeconds: 5, resolution: '2k', aspectRatio: '21:9', references: [REFERENCE] },
      'POST /v2/video_generation',
      {
        model: 'MiniMax-H3',
        content: [
          { type: 'text', text: 'a lighthouse' },
          { type: 'image_url', image_url: { url: dataUrl(REFERENCE) }, role: 'reference_image' },
        ],
        resolution: '2K',
        duration: 5,
        ratio: '21:9',
      },
    ],
    [
      'minimax',
      'MiniMax-H3',
      { durationSeconds: 5, resolution: '768p', firstFrame: FIRST, lastFrame: LAST },
      'POST /v2/video_generation',
      {
        model: 'MiniMax-H3',
        content: [
          { type: 'text', text: 'a lighthouse' },
          { type: 'image_url', image_url: { url: dataUrl(FIRST) }, role: 'first_frame' },
          { type: 'image_url', image_url: { url: dataUrl(LAST) }, role: 'last_frame' },
        ],
        resolution: '768P',
        duration: 5,
      },
    ],
    [
      'luma',
      'ray-3.2',
      { durationSeconds: 5, resolution: '720p', aspectRatio: '16:9', firstFrame: FIRST, lastFrame: LAST },
      'POST /v1/generations',
      {
        model: 'ray-3.2',
        type: 'video',
        prompt: 'a lighthouse',
        aspect_ratio: '16:9',
        video: {
          resolution: '720p',
          duration: '5s',
          start_frame: { data: base64(FIRST), media_type: 'image/png' },
          end_frame: { data: base64(LAST), media_type: 'image/png' },
        },
      },
    ],
    [
      'kling',
      'kling-3.0',
      { durationSeconds: 5, resolution: '1080p', audio: true, firstFrame: FIRST, lastFrame: LAST },
      'POST /v1/image-to-video/kling-3.0',
      {
        contents: [
          { type: 'prompt', text: 'a lighthouse' },
          { type: 'first_frame', url: base64(FIRST) },
          { type: 'last_frame', url: base64(LAST) },
        ],
        settings: { resolution: '1080p', duration: 5, audio: 'native' },
        options: { external_task_id: TOKEN },
      },
    ],
    [
      'kling',
      'kling-3.0',
      { durationSeconds: 3, resolution: '720p', aspectRatio: '1:1' },
      'POST /v1/text-to-video/kling-3.0',
      {
        prompt: 'a lighthouse',
        settings: { resolution: '720p', aspect_ratio: '1:1', duration: 3, audio: 'off' },
        options: { external_task_id: TOKEN },
      },
    ],
    [
      'ark',
      'dreamina-seedance-2-0',
      { durationSeconds: 5, resolution: '720p', aspectRatio: '16:9', references: [REFERENCE] },
      'POST /v1/contents/generations/tasks',
      {
        model: 'dreamina-seedance-2-0',
        content: [
          { type: 'text', text: 'a lighthouse' },
          { type: 'image_url', image_url: { url: dataUrl(REFERENCE) }, role: 'reference_image' },
        ],
        resolution: '720p',
        ratio: '16:9',
        duration: 5,
        generate_audio: false,
      },
    ],
    [
      'openrouter',
      'google/veo-3.1',
      { durationSeconds: 8, resolution: '720p', aspectRatio: '16:9', audio: true, firstFrame: FIRST, lastFrame: LAST },
      'POST /v1/videos',
      {
        model: 'google/veo-3.1',
        prompt: 'a lighthouse',
        duration: 8,
        resolution: '720p',
        aspect_ratio: '16:9',
        generate_audio: true,
        frame_images: [
          { type: 'image_url', image_url: { url: dataUrl(FIRST) }, frame_type: 'first_frame' },
          { type: 'image_url', image_url: { url: dataUrl(LAST) }, frame_type: 'last_frame' },
        ],
      },
    ],
  ])('goes to %s (%s) in its format', async (id, model, spec, line, body) => {
    expect(await sent(id, spec, model)).toMatchObject({ line, body });
  });

  it('goes to OpenRouter without generate_audio where the deployment drops the field', async () => {
    const call = providerCall({ quirks: { dropFields: ['generate_audio'] } });
    await open('openrouter').submit(videoSpec({ resolution: '2k' }), TOKEN, call);
    const body = JSON.parse(upstream.received.at(-1)?.body ?? '') as object;
    expect(body).not.toHaveProperty('generate_audio');
    expect(body).toHaveProperty('resolution', '2K');
  });

  it.each<[param: string, longest: Partial<VideoSpec>, longer: Partial<VideoSpec>]>([
    ['prompt', { prompt: 'é'.repeat(1_000) }, { prompt: 'é'.repeat(1_001) }],
    ['image_url', { firstFrame: sizedImage(3_932_100) }, { firstFrame: sizedImage(3_932_160) }],
  ])('with the longest %s of Runway is sent, and with a longer one refused before', async (param, longest, longer) => {
    const adapter = open('runway');
    await adapter.submit(videoSpec(longest), TOKEN, providerCall());
    const { code, options } = await providerErrorOf(adapter.submit(videoSpec(longer), TOKEN, providerCall()));
    const expected = ['validation_failed', 'connect', param, 1];
    expect([code, options.phase, options.param, upstream.received.length]).toEqual(expected);
  });

  it.each<[id: string, spec: Partial<VideoSpec>, param: string]>([
    ['xai', { resolution: '1080p', firstFrame: FIRST, lastFrame: LAST }, 'resolution'],
    ['xai', { resolution: '1080p', references: [REFERENCE] }, 'resolution'],
    ['xai', { lastFrame: LAST }, 'end_image_url'],
    ['xai', { firstFrame: FIRST, references: [REFERENCE] }, 'input_images'],
    ['xai', { firstFrame: FIRST, aspectRatio: '1:1' }, 'aspect_ratio'],
    ['xai', { references: Array<ImageFile>(15).fill(REFERENCE) }, 'input_images'],
    ['runway', { aspectRatio: '1:1' }, 'aspect_ratio'],
    ['runway', { lastFrame: LAST }, 'end_image_url'],
    ['runway', { firstFrame: FIRST, lastFrame: LAST }, 'end_image_url'],
    ['minimax', { firstFrame: FIRST, aspectRatio: '1:1' }, 'aspect_ratio'],
    ['minimax', { references: Array<ImageFile>(6).fill(REFERENCE) }, 'input_images'],
    ['ark', { references: Array<ImageFile>(10).fill(REFERENCE) }, 'input_images'],
    ['luma', { durationSeconds: 10, firstFrame: FIRST }, 'duration_seconds'],
    ['kling', { lastFrame: LAST }, 'end_image_url'],
    ['kling', { firstFrame: FIRST, aspectRatio: '1:1' }, 'aspect_ratio'],
    ['ark', { firstFrame: FIRST, references: [REFERENCE] }, 'input_images'],
    ['openrouter', { lastFrame: LAST, references: [REFERENCE] }, 'input_images'],
    ['vllm', { firstFrame: FIRST, lastFrame: LAST }, 'end_image_url'],
    ['vllm', { references: [REFERENCE] }, 'input_images'],
    ['vllm', { resolution: '1280x720', aspectRatio: '16:9' }, 'aspect_ratio'],
  ])('that %s cannot combine is refused before anything is sent: %j', async (id, spec, param) => {
    const submitted = open(id).submit(videoSpec({ resolution: null, ...spec }), TOKEN, providerCall());
    const { code, options } = await providerErrorOf(submitted);
    expect([code, options.phase, options.param, upstream.received.length]).toEqual([
      'validation_failed',
      'connect',
      param,
      0,
    ]);
  });

  it.each<[spec: Partial<VideoSpec>, size: string]>([
    [{ resolution: '720p', aspectRatio: '16:9' }, '1280x720'],
    [{ resolution: '720p', aspectRatio: '9:16' }, '720x1280'],
    [{ resolution: '480p', aspectRatio: null }, '854x480'],
    [{ resolution: '832x480', aspectRatio: null }, '832x480'],
  ])('goes to vLLM as a form, with the size of %j', async (spec, size) => {
    const adapter = open('vllm');
    await adapter.submit(videoSpec({ ...spec, durationSeconds: 4, firstFrame: FIRST }), TOKEN, providerCall());
    const [{ method, url, body } = { method: '', url: '', body: '' }] = upstream.received;
    expect(`${method} ${url}`).toBe('POST /v1/videos');
    const fields = [...body.matchAll(/name="(\w+)"(?:; filename="([^"]+)"\r\nContent-Type: (\S+))?\r\n\r\n([^\r]*)/g)];
    expect(fields.map(([, ...field]) => field.filter((part) => part !== undefined))).toEqual([
      ['model', 'upstream-model'],
      ['prompt', 'a lighthouse'],
      ['seconds', '4'],
      ['size', size],
      ['input_reference', 'frame.png', 'image/png', 'first'],
    ]);
  });

  it('names the version of Runway’s API, and carries its key', async () => {
    const { headers } = await sent('runway', {}, 'gen4.5');
    expect([headers['x-runway-version'], headers['authorization']]).toEqual(['2024-11-06', 'Bearer test-key-1234']);
  });
});

describe('the usage or cost that a vendor reports for a finished video', () => {
  it.each([
    ['xai', { seconds: 6, vendorCostMicro: 420_000 }],
    ['runway', { units: 60 }],
    ['minimax', { seconds: 5 }],
    ['luma', { seconds: 0 }],
    ['kling', { seconds: 5, units: 3 }],
    ['ark', { units: 108.9 }],
    ['openrouter', { vendorCostMicro: 250_000 }],
  ])('by %s becomes its bill', async (id, bill) => {
    const adapter = open(id);
    const handle = await adapter.submit(videoSpec({ prompt: '[[done]]' }), TOKEN, providerCall());
    for (;;) {
      const snapshot = await adapter.poll(handle, providerCall());
      if (snapshot.state === 'queued' || snapshot.state === 'running') continue;
      expect(snapshot).toMatchObject({ state: 'succeeded', usage: bill });
      return;
    }
  });
});

describe('the authorization of Kling', () => {
  const claimsOf = (header: string): unknown =>
    JSON.parse(Buffer.from(header.split('.')[1] ?? '', 'base64url').toString('utf8'));

  it('is the plain key, or a token signed with the secret key and renewed before it expires', () => {
    const clock = { now: () => nowMs, monotonic: () => nowMs };
    let nowMs = 1_000_000_000_000;
    expect(klingAuthorization('key-1', clock)()).toBe('Bearer key-1');
    const authorize = klingAuthorization('access:secret', clock);
    const first = authorize();
    expect(claimsOf(first)).toEqual({ iss: 'access', exp: 1_000_001_800, nbf: 999_999_995 });
    nowMs += 1_739_000;
    expect(authorize()).toBe(first);
    nowMs += 1_000;
    expect(claimsOf(authorize())).toMatchObject({ exp: 1_000_003_540 });
  });
});
