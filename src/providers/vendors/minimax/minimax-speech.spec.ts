import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { eventStream, json } from '../../../../test/conformance/media-answers';
import { speechRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { SpeechRequest } from '../../contract/speech';
import { UpstreamHttp } from '../../kit/upstream-http';
import { MiniMaxSpeech } from './minimax-speech';

const hex = (text: string): string => Buffer.from(text).toString('hex');
const piece = (audio: string, status: number): object => ({ data: { audio: hex(audio), status } });

describe('speech of MiniMax', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    upstream.answer = eventStream(piece('one ', 1), piece('two', 1), piece('one two', 2));
    http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1`) });
  });
  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  async function speak(overrides: Partial<SpeechRequest> = {}) {
    const stream = await new MiniMaxSpeech(http).speak(speechRequest(overrides), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    return sink.output;
  }

  it('asks for pieces without the whole audio at their end', async () => {
    await speak({ format: 'pcm', voice: 'English_expressive_narrator', speed: 1.5 });
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({
      model: 'upstream-model',
      text: 'Hello there.',
      stream: true,
      stream_options: { exclude_aggregated_audio: true },
      output_format: 'hex',
      voice_setting: { voice_id: 'English_expressive_narrator', speed: 1.5 },
      audio_setting: { sample_rate: 24_000, bitrate: 128_000, format: 'pcm', channel: 1 },
    });
  });

  it('leaves out the whole audio that follows the pieces', async () => {
    expect((await speak({ format: 'pcm' })).toString()).toBe('one two');
  });

  it('is the whole audio where there were no pieces', async () => {
    upstream.answer = eventStream(piece('one two', 2));
    expect((await speak({ format: 'pcm' })).toString()).toBe('one two');
  });

  it('is interrupted by an end without the last event, and by a refusal between pieces', async () => {
    for (const last of [[], [{ base_resp: { status_code: 1026, status_msg: 'sensitive' } }]]) {
      upstream.answer = eventStream(piece('one', 1), ...last);
      expect((await providerErrorOf(speak({ format: 'pcm' }))).options.phase).toBe('stream');
    }
  });

  it.each([1002, 1039, 1041, 2045])('allows failover after a rate limit: %d', async (code) => {
    upstream.answer = json({ base_resp: { status_code: code, status_msg: 'limit' } });
    const { code: ours, options } = await providerErrorOf(speak());
    expect([ours, options.fallback, options.outcomeUnknown]).toEqual(['provider_rate_limited', true, undefined]);
  });

  it.each([
    ['provider_unavailable', 1000, 'unknown error'],
    ['provider_timeout', 1001, 'request timeout'],
    ['provider_unavailable', 1024, 'internal error'],
    ['provider_unavailable', 1033, 'system error'],
  ] as const)('lets another provider serve what fails there: %s for %i', async (code, number, message) => {
    const failure = { base_resp: { status_code: number, status_msg: message } };
    for (const answer of [json(failure), eventStream(failure)]) {
      upstream.answer = answer;
      const { code: ours, options } = await providerErrorOf(speak());
      expect([ours, options.fallback, options.upstream?.code]).toEqual([code, true, String(number)]);
    }
  });

  it.each([
    ['voice', 2042, "you don't have access to this voice_id"],
    ['voice', 2054, 'voice id not exist'],
    ['voice', 20132, 'invalid samples or voice_id'],
    [undefined, 1042, 'invisible character ratio limit'],
  ] as const)('blames the request, param %s, for code %s', async (param, code, message) => {
    const refusal = { base_resp: { status_code: code, status_msg: message } };
    for (const answer of [json(refusal), eventStream(refusal)]) {
      upstream.answer = answer;
      const error = await providerErrorOf(speak({ voice: 'ghost' }));
      const { options } = error;
      expect([error.code, options.param, options.upstream]).toEqual([
        'validation_failed',
        param,
        { status: 400, code: String(code) },
      ]);
      expect([options.fallback, options.outcomeUnknown]).toEqual([false, undefined]);
    }
  });

  it.each([
    ['response_format', { format: 'aac' }],
    ['response_format', { format: 'wav' }],
    ['speed', { speed: 3 }],
    ['instructions', { instructions: 'Whisper.' }],
  ] as const)('is refused before the call for an unsupported %s', async (param, option) => {
    const { options } = await providerErrorOf(speak(option));
    expect([options.param, options.phase, upstream.received.length]).toEqual([param, 'connect', 0]);
  });
});
