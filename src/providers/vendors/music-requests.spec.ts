import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { musicSpec } from '../../../test/conformance/job-requests';
import { formOf, json } from '../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { SUBJECTS } from '../../../test/conformance/subjects';
import type { SyncJobAdapter } from '../contract/media-job';
import type { Provider } from '../contract/provider';

let upstream: FakeUpstream;
let provider: Provider | null = null;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});
afterEach(async () => {
  await provider?.close();
  await upstream.stop();
});

function open(id: string): SyncJobAdapter {
  const subject = SUBJECTS.find(({ definition }) => definition.id === id);
  if (subject?.musicVendor === undefined) throw new Error(`${id} has no row`);
  upstream.answer = subject.musicVendor;
  provider = subject.definition.create(subject.environment(upstream.origin));
  return provider?.music as SyncJobAdapter;
}

const SPEC = musicSpec({ prompt: 'a waltz', durationSeconds: 30, format: 'mp3', instrumental: true });

describe('a piece of music', () => {
  it('is composed by ElevenLabs within one request, with its credits as the bill', async () => {
    const { usage } = await open('elevenlabs').make(SPEC, providerCall({ upstreamModel: 'music_v2_5' }));
    const [received] = upstream.received;
    expect([received?.url, JSON.parse(received?.body ?? ''), usage?.units]).toEqual([
      '/v1/music?output_format=mp3_44100_128',
      { prompt: 'a waltz', music_length_ms: 30_000, model_id: 'music_v2_5', force_instrumental: true },
      375,
    ]);
  });

  it('is composed by Stability within one request, which is a form', async () => {
    const { usage } = await open('stability').make(SPEC, providerCall({ upstreamModel: 'stable-audio-2.5' }));
    const [received] = upstream.received;
    const form = await formOf(received);
    expect([received?.url, received?.headers.accept, Object.fromEntries(form), usage]).toEqual([
      '/v1/audio/stable-audio-2/text-to-audio',
      'application/json',
      { prompt: 'a waltz', model: 'stable-audio-2.5', duration: '30', output_format: 'mp3' },
      null,
    ]);
  });

  it.each([
    [true, 'a waltz\n\nDuration: 90 seconds. Instrumental only, no vocals.'],
    [false, 'a waltz\n\nDuration: 90 seconds.'],
  ])(
    'is composed by Lyria within one request, as long as its prompt says, instrumental: %s',
    async (instrumental, input) => {
      const call = providerCall({ upstreamModel: 'lyria-3.5' });
      await open('google').make({ ...SPEC, durationSeconds: 90, instrumental }, call);
      const [received] = upstream.received;
      const sent = { model: 'lyria-3.5', input };
      expect([received?.url, JSON.parse(received?.body ?? '')]).toEqual(['/v1beta/interactions', sent]);
    },
  );

  it.each([
    [true, { is_instrumental: true }],
    [false, { lyrics_optimizer: true }],
  ])('is composed by MiniMax within one request, instrumental: %s', async (instrumental, singing) => {
    const call = providerCall({ upstreamModel: 'music-2.6' });
    const { usage } = await open('minimax').make({ ...SPEC, instrumental }, call);
    const [received] = upstream.received;
    expect([received?.url, JSON.parse(received?.body ?? ''), usage?.seconds]).toEqual([
      '/v1/music_generation',
      {
        model: 'music-2.6',
        prompt: 'a waltz',
        ...singing,
        output_format: 'hex',
        audio_setting: { sample_rate: 44_100, bitrate: 256_000, format: 'mp3' },
      },
      25.364,
    ]);
  });

  it.each([
    [1002, { code: 'provider_rate_limited', options: { fallback: true, upstream: { status: 429 } } }],
    [1008, { code: 'provider_error', options: { credentialRefused: true } }],
    [1026, { code: 'validation_failed', options: { details: { reason: 'content_filtered' } } }],
    [2013, { code: 'validation_failed', options: { fallback: false, upstream: { status: 400 } } }],
    [1000, { code: 'provider_error', options: { fallback: false, outcomeUnknown: true } }],
  ])('of MiniMax that fails with code %i and status 200 is requested once', async (code, expected) => {
    const music = open('minimax');
    upstream.answer = json({ base_resp: { status_code: code, status_msg: 'the secret of my prompt' } });
    const error = await providerErrorOf(music.make(SPEC, providerCall()));
    expect(error).toMatchObject(expected);
    expect([JSON.stringify([error.message, error.options]).includes('secret'), upstream.received.length]).toEqual([
      false,
      1,
    ]);
  });

  it.each(['elevenlabs', 'google', 'minimax', 'stability'])(
    'of %s is refused before the call in another format',
    (id) => {
      const music = open(id);
      for (const option of [{ format: 'wav' }, { sampleRate: 48_000 }]) {
        expect(() => music.assertSupported?.({ ...SPEC, ...option }, {})).toThrow(
          expect.objectContaining({ code: 'validation_failed' }),
        );
      }
    },
  );

  it.each([
    ['moderation withholds it', json({ finish_reason: 'CONTENT_FILTERED', seed: 1 })],
    ['moderation refuses the prompt', json({ id: '1', name: 'content_moderation', errors: ['flagged'] }, 403)],
  ])('of Stability fails as filtered content when %s', async (_case, answer) => {
    const music = open('stability');
    upstream.answer = answer;
    const { code, options } = await providerErrorOf(music.make(SPEC, providerCall()));
    expect([code, options.fallback, options.details]).toMatchObject([
      'validation_failed',
      false,
      { reason: 'content_filtered' },
    ]);
  });

  it('of ElevenLabs fails as filtered content when its prompt names a musician', async () => {
    const music = open('elevenlabs');
    const detail = {
      status: 'bad_prompt',
      message: 'Try this',
      data: { prompt_suggestion: 'the secret of my prompt' },
    };
    upstream.answer = json({ detail }, 400);
    const { code, options } = await providerErrorOf(music.make(SPEC, providerCall()));
    expect([code, options.fallback, options.details]).toEqual([
      'validation_failed',
      false,
      { reason: 'content_filtered' },
    ]);
  });

  it('of Lyria fails as filtered content when moderation answers with a text', async () => {
    const music = open('google');
    const content = [{ type: 'text', text: 'I cannot make this: the secret of my prompt' }];
    upstream.answer = json({ id: 'v1_abc', status: 'completed', steps: [{ type: 'model_output', content }] });
    const { code, options } = await providerErrorOf(music.make(SPEC, providerCall()));
    expect([code, options.fallback, options.outcomeUnknown, options.details]).toEqual([
      'validation_failed',
      false,
      undefined,
      { reason: 'content_filtered' },
    ]);
  });

  it.each([
    ['google', json({ id: 'v1_abc', status: 'completed', steps: [{ type: 'model_output', content: [] }] })],
    ['minimax', json({ data: { audio: 'https://example.com/a.mp3' }, base_resp: { status_code: 0 } })],
    ['stability', json({ finish_reason: 'SUCCESS' })],
    ['stability', json('not JSON')],
  ])('of %s without its file is never requested again', async (id, answer) => {
    const music = open(id);
    upstream.answer = answer;
    const { options } = await providerErrorOf(music.make(SPEC, providerCall()));
    expect([options.fallback, options.outcomeUnknown, upstream.received.length]).toEqual([false, true, 1]);
  });
});
