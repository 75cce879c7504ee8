import { FakeUpstream, type Answer } from '../../../../test/conformance/fake-upstream';
import { eventStream } from '../../../../test/conformance/media-answers';
import { speechRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { SpeechFormat } from '../../contract/speech';
import { UpstreamHttp } from '../../kit/upstream-http';
import { GeminiSpeech, toSpeech } from './gemini-speech';

const audio = (text: string, mimeType = 'audio/L16;codec=pcm;rate=24000') => ({
  content: { parts: [{ inlineData: { mimeType, data: Buffer.from(text).toString('base64') } }] },
});

describe('GeminiSpeech', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1beta`) });
  });
  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  async function speak(format: SpeechFormat, answer: Answer) {
    upstream.answer = answer;
    const stream = await new GeminiSpeech(http).speak(speechRequest({ format, voice: 'Kore' }), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    return { bytes: sink.output, progress: stream.progress };
  }
  const events = (...candidates: object[]) => eventStream(...candidates.map((each) => ({ candidates: [each] })));

  it('joins the samples of all events, and reads the tokens of the last one', async () => {
    const { bytes, progress } = await speak(
      'pcm',
      eventStream(
        { candidates: [audio('one ')] },
        {
          candidates: [{ ...audio('two'), finishReason: 'STOP' }],
          usageMetadata: {
            promptTokenCount: 5,
            candidatesTokenCount: 50,
            candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 50 }],
          },
        },
      ),
    );
    expect(bytes.toString()).toBe('one two');
    expect(progress).toMatchObject({ audioBytes: 7, usage: { inputText: 5, outputAudio: 50 } });
  });

  it('reports an unfinished stream as interrupted', async () => {
    expect((await providerErrorOf(speak('pcm', events(audio('one'))))).code).toBe('provider_disconnect');
  });

  it('reports audio that is withheld as interrupted after the first sample, and as filtered before', async () => {
    const cut = await providerErrorOf(speak('pcm', events(audio('one'), { finishReason: 'SAFETY' })));
    expect(cut.code).toBe('stream_interrupted');
    const { code, options } = await providerErrorOf(speak('pcm', events({ finishReason: 'PROHIBITED_CONTENT' })));
    expect([code, options.details?.['reason']]).toEqual(['validation_failed', 'content_filtered']);
  });

  it.each([
    ['another sample rate', events(audio('one', 'audio/L16;rate=16000'))],
    ['no sound', events({ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' })],
    ['an event that is not JSON', eventStream('{"candidates":')],
    ['a malformed response', events({ finishReason: 'MALFORMED_RESPONSE' })],
    ['an end at the limit before any sound', events({ finishReason: 'MAX_TOKENS' })],
  ])('refuses %s', async (_what, answer) => {
    const { code, options } = await providerErrorOf(speak('pcm', answer));
    expect([code, options.phase]).toEqual(['provider_error', 'first_token']);
  });

  it.each(['mp3', 'opus', 'aac', 'flac', 'wav'] as const)('refuses %s before the call', async (format) => {
    const { options } = await providerErrorOf(speak(format, events()));
    expect([options.param, options.phase, upstream.received.length]).toEqual(['response_format', 'connect', 0]);
  });
});

describe('toSpeech', () => {
  it('sends instructions in speechMetadata, since the model reads the text word for word', () => {
    const { contents } = toSpeech(speechRequest({ instructions: 'Whisper.' }));
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Hello there.', speechMetadata: { style: 'Whisper.' } }] },
    ]);
  });

  it('sends the text alone without instructions', () => {
    const { contents } = toSpeech(speechRequest({ speed: 1 }));
    expect(contents).toEqual([{ role: 'user', parts: [{ text: 'Hello there.' }] }]);
  });

  it('refuses speed', () => {
    expect(() => toSpeech(speechRequest({ speed: 2 }))).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param: 'speed' }) }),
    );
  });
});
