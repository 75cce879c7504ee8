import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { videoSpec } from '../../../test/conformance/job-requests';
import { playJobs } from '../../../test/conformance/job-upstream';
import { json } from '../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { SUBJECTS } from '../../../test/conformance/subjects';
import type { ImageFile } from '../contract/images';
import type { AsyncJobAdapter, VideoSpec } from '../contract/media-job';
import type { Provider } from '../contract/provider';

const image = (bytes: string): ImageFile => ({ bytes: Buffer.from(bytes), contentType: 'image/png' });
const FIRST = image('first');
const LAST = image('last');
const REFERENCE = image('reference');
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

function open(id: string): AsyncJobAdapter {
  const subject = SUBJECTS.find(({ definition }) => definition.id === id);
  if (subject?.jobVendor === undefined) throw new Error(`${id} has no row`);
  upstream.answer = playJobs(subject.jobVendor);
  provider = subject.definition.create(subject.environment(upstream.origin));
  return provider?.video as AsyncJobAdapter;
}

describe('a video request to Google', () => {
  it.each<[id: string, model: string, spec: Partial<VideoSpec>, line: string, body: object]>([
    [
      'google',
      'gemini-omni-1.2-flash',
      { durationSeconds: 6, resolution: '1080p', aspectRatio: '9:16', audio: true, firstFrame: FIRST },
      'POST /v1beta/interactions',
      {
        model: 'gemini-omni-1.2-flash',
        input: [
          { type: 'image', data: base64(FIRST), mime_type: 'image/png' },
          { type: 'text', text: 'a lighthouse' },
        ],
        background: true,
        generation_config: { video_config: { task: 'image_to_video' } },
        response_format: {
          type: 'video',
          delivery: 'uri',
          duration: '6s',
          resolution: '1080p',
          aspect_ratio: '9:16',
        },
      },
    ],
    [
      'google',
      'gemini-omni-1.2-flash',
      { durationSeconds: 6, resolution: null, audio: true, references: [REFERENCE] },
      'POST /v1beta/interactions',
      {
        model: 'gemini-omni-1.2-flash',
        input: [
          { type: 'image', data: base64(REFERENCE), mime_type: 'image/png' },
          { type: 'text', text: 'a lighthouse' },
        ],
        background: true,
        generation_config: { video_config: { task: 'reference_to_video' } },
        response_format: { type: 'video', delivery: 'uri', duration: '6s' },
      },
    ],
    [
      'google',
      'gemini-omni-1.2-flash',
      { durationSeconds: 6, resolution: null, audio: true },
      'POST /v1beta/interactions',
      {
        model: 'gemini-omni-1.2-flash',
        input: 'a lighthouse',
        background: true,
        response_format: { type: 'video', delivery: 'uri', duration: '6s' },
      },
    ],
    [
      'vertex',
      'veo-3.1-generate-001',
      { durationSeconds: 6, resolution: '1080p', aspectRatio: '9:16', audio: true, firstFrame: FIRST, lastFrame: LAST },
      'POST /v1/publishers/google/models/veo-3.1-generate-001:predictLongRunning',
      {
        instances: [
          {
            prompt: 'a lighthouse',
            image: { bytesBase64Encoded: base64(FIRST), mimeType: 'image/png' },
            lastFrame: { bytesBase64Encoded: base64(LAST), mimeType: 'image/png' },
          },
        ],
        parameters: {
          sampleCount: 1,
          durationSeconds: 6,
          resolution: '1080p',
          aspectRatio: '9:16',
          generateAudio: true,
        },
      },
    ],
    [
      'vertex',
      'veo-3.1-generate-001',
      { durationSeconds: 8, resolution: null, references: [REFERENCE] },
      'POST /v1/publishers/google/models/veo-3.1-generate-001:predictLongRunning',
      {
        instances: [
          {
            prompt: 'a lighthouse',
            referenceImages: [
              { image: { bytesBase64Encoded: base64(REFERENCE), mimeType: 'image/png' }, referenceType: 'asset' },
            ],
          },
        ],
        parameters: { sampleCount: 1, durationSeconds: 8, generateAudio: false },
      },
    ],
  ])('goes to %s as %s: %j', async (id, upstreamModel, spec, line, body) => {
    await open(id).submit(videoSpec({ prompt: 'a lighthouse', ...spec }), TOKEN, providerCall({ upstreamModel }));
    const [received] = upstream.received;
    expect([`${received?.method} ${received?.url}`, JSON.parse(received?.body ?? '')]).toEqual([line, body]);
  });

  it.each<[id: string, spec: Partial<VideoSpec>, param: string]>([
    ['google', { firstFrame: FIRST, lastFrame: LAST }, 'end_image_url'],
    ['google', { firstFrame: FIRST, references: [REFERENCE] }, 'input_images'],
    ['google', { references: Array<ImageFile>(7).fill(REFERENCE) }, 'input_images'],
    ['vertex', { lastFrame: LAST }, 'end_image_url'],
    ['vertex', { durationSeconds: 8, firstFrame: FIRST, references: [REFERENCE] }, 'input_images'],
    ['vertex', { durationSeconds: 4, references: [REFERENCE] }, 'duration_seconds'],
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
});

describe('a video of Gemini Omni', () => {
  it('has a URL that returns the file, and a credential that is sent to the configured host only', async () => {
    const adapter = open('google');
    const handle = await adapter.submit(videoSpec({ prompt: '[[done]]' }), TOKEN, providerCall());
    upstream.answer = json({
      status: 'completed',
      steps: [
        { type: 'model_output', content: [{ type: 'video', uri: 'https://files.example/v1beta/files/a:download' }] },
      ],
    });
    const snapshot = await adapter.poll(handle, providerCall());
    expect(snapshot).toMatchObject({ outputs: [{ url: 'https://files.example/v1beta/files/a:download?alt=media' }] });
    expect(await adapter.downloadCredential?.(providerCall())).toEqual({
      hosts: [new URL(upstream.origin).host],
      headers: { 'x-goog-api-key': 'AIza-test-1234' },
    });
  });
});
