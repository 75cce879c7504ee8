import { sse } from '../../../../test/conformance/chat-chunks';
import { silentWav, transcriptionRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../../test/conformance/scripted-transport';
import { ProviderError } from '../../contract/provider-error';
import type { TranscriptStream } from '../../contract/transcription';
import { NO_USAGE } from '../../contract/usage';
import {
  fromTranscriptReply,
  OpenAiTranscription,
  toTranscriptionForm,
  toTranscriptSeconds,
  toTranscriptUsage,
} from './openai-transcription';

async function formOf(...args: Parameters<typeof toTranscriptionForm>): Promise<FormData> {
  const body = toTranscriptionForm(...args);
  const bytes = Buffer.concat(await body.toStream().toArray());
  return new Response(bytes, { headers: { 'content-type': body.contentType } }).formData();
}

describe('toTranscriptionForm', () => {
  it('sends the file and requests the short format when no timestamps are requested', async () => {
    const form = await formOf(transcriptionRequest(), providerCall(), false);
    expect([...form.keys()]).toEqual(['model', 'response_format', 'file']);
    expect([form.get('model'), form.get('response_format')]).toEqual(['upstream-model', 'json']);
    const file = form.get('file') as File;
    expect([file.name, file.type, Buffer.from(await file.arrayBuffer())]).toEqual([
      'audio.wav',
      'audio/wav',
      silentWav(),
    ]);
  });

  it('sends all other requested fields', async () => {
    const request = transcriptionRequest({
      language: 'de',
      prompt: 'Grüße',
      temperature: 0,
      timestamps: ['word', 'segment'],
    });
    const form = await formOf(request, providerCall(), true);
    expect(form.get('response_format')).toBe('verbose_json');
    expect(form.getAll('timestamp_granularities[]')).toEqual(['word', 'segment']);
    expect(['language', 'prompt', 'temperature', 'stream'].map((name) => form.get(name))).toEqual([
      'de',
      'Grüße',
      '0',
      'true',
    ]);
  });

  it('sends the language under the upstream’s name for it', async () => {
    const call = providerCall({ quirks: { fieldNames: { language: 'languages[]' } } });
    const form = await formOf(transcriptionRequest({ language: 'de' }), call, false);
    expect([form.getAll('languages[]'), form.has('language')]).toEqual([['de'], false]);
  });
});

const read = (reply: unknown, timestamps: readonly ('segment' | 'word')[] = []) =>
  fromTranscriptReply(Buffer.from(typeof reply === 'string' ? reply : JSON.stringify(reply)), { timestamps });

describe('fromTranscriptReply', () => {
  it('reads the short format, with the tokens that newer models count', () => {
    const usage = {
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 4, audio_tokens: 10 },
      output_tokens: 6,
    };
    const { text, language, segments, words, usage: vector } = read({ text: 'Hi.', usage });
    expect([text, language, segments, words]).toEqual(['Hi.', null, null, null]);
    expect(vector).toMatchObject({ inputText: 4, inputAudio: 10, outputText: 6, seconds: 0 });
  });

  it('returns the verbose format of Whisper unchanged', () => {
    const segment = {
      id: 3,
      seek: 5,
      start: 0,
      end: 1.5,
      text: ' Hi.',
      tokens: [1, 2],
      temperature: 0.2,
      avg_logprob: -0.5,
      compression_ratio: 1.1,
      no_speech_prob: 0.01,
    };
    const word = { word: 'Hi', start: 0, end: 1.5 };
    const reply = {
      task: 'transcribe',
      language: 'english',
      duration: 1.5,
      text: 'Hi.',
      segments: [segment],
      words: [word],
    };
    expect(read({ ...reply, usage: { type: 'duration', seconds: 2 } }, ['segment', 'word'])).toEqual({
      text: 'Hi.',
      language: 'english',
      segments: [segment],
      words: [word],
      usage: null,
      reportedSeconds: 1.5,
    });
  });

  it('fills in the segment fields that other servers omit', () => {
    const { segments } = read({ text: 'Hi.', segments: [{ start: 0, end: 1, text: 'Hi.' }] }, ['segment']);
    expect(segments).toEqual([
      {
        id: 0,
        seek: 0,
        start: 0,
        end: 1,
        text: 'Hi.',
        tokens: [],
        temperature: 0,
        avg_logprob: 0,
        compression_ratio: 0,
        no_speech_prob: 0,
      },
    ]);
  });

  it('returns neither segments nor words for silence', () => {
    expect(read({ text: ' ' }, ['segment', 'word'])).toMatchObject({ segments: [], words: [] });
  });

  it.each([
    ['no segments', { text: 'Hi.' }, ['segment'] as const],
    ['an empty list of segments', { text: 'Hi.', segments: [] }, ['segment'] as const],
    ['no words', { text: 'Hi.', segments: [{ start: 0, end: 1, text: 'Hi.' }] }, ['word'] as const],
    ['a segment without timestamps', { text: 'Hi.', segments: [{ text: 'Hi.' }] }, [] as const],
    ['a time before the beginning', { text: 'Hi.', words: [{ word: 'Hi.', start: -1, end: 1 }] }, [] as const],
    ['a list of texts', { text: 'Hi.', words: ['Hi.'] }, [] as const],
    ['no text', { segments: [] }, [] as const],
    ['plain text', 'Hi.', [] as const],
  ])('refuses %s', (_name, reply, timestamps) => {
    expect(() => read(reply, timestamps)).toThrow(ProviderError);
  });

  it('maps an error inside a reply with status 200', () => {
    expect(() => read({ error: { message: 'x', type: 'overloaded_error' } })).toThrow('unavailable');
  });
});

describe('toTranscriptUsage', () => {
  it('counts tokens without details as audio, which costs more', () => {
    const usage = { type: 'tokens', input_tokens: 14, output_tokens: 6 };
    const details = { text_tokens: 4, audio_tokens: 10 };
    expect(toTranscriptUsage({ ...usage, input_token_details: details })).toEqual({
      ...NO_USAGE,
      inputText: 4,
      inputAudio: 10,
      outputText: 6,
    });
    expect(toTranscriptUsage(usage)).toMatchObject({ inputText: 0, inputAudio: 14 });
  });

  it('reports seconds separately: from the duration of the reply, else from its usage', () => {
    expect(toTranscriptUsage({ type: 'duration', seconds: 9 })).toBeNull();
    expect(toTranscriptSeconds(8.4, { type: 'duration', seconds: 9 })).toBe(8.4);
    expect(toTranscriptSeconds('8.4', undefined)).toBe(8.4);
    expect(toTranscriptSeconds(undefined, { type: 'duration', seconds: 9 })).toBe(9);
    for (const value of [0, -1, Infinity, 'long', null]) expect(toTranscriptSeconds(value, { seconds: 9 })).toBeNull();
  });
});

const EVENTS = { 'content-type': 'text/event-stream' };
const delta = (text: string): object => ({ type: 'transcript.text.delta', delta: text });
const done = (text: string, usage?: object): object => ({ type: 'transcript.text.done', text, usage });

function open(): { transport: ScriptedTransport; opening: Promise<TranscriptStream> } {
  const transport = new ScriptedTransport();
  const dialect = new OpenAiTranscription({
    ...methodsOf(transport),
    post: () => Promise.reject(new Error('not used')),
  });
  const opening = dialect.openStream(transcriptionRequest(), providerCall());
  return { transport: transport.begin(EVENTS), opening };
}

function methodsOf(transport: ScriptedTransport): Pick<ScriptedTransport, 'endpoint' | 'postForStream'> {
  return { endpoint: (path) => path, postForStream: (...args) => transport.postForStream(...args) };
}

/** The deltas of the events that have been written. */
async function textsOf(opening: Promise<TranscriptStream>): Promise<{ texts: unknown[]; stream: TranscriptStream }> {
  const stream = await opening;
  const sink = new CollectingSink();
  await stream.pipe(sink);
  return { texts: sink.chunks.map(({ delta: text }) => text), stream };
}

describe('OpenAiTranscription.openStream', () => {
  it('forwards the deltas and reports text and usage as progress', async () => {
    const usage = { input_tokens: 14, input_token_details: { text_tokens: 4, audio_tokens: 10 }, output_tokens: 6 };
    const bytes = Buffer.from(
      sse(delta('Grü'), { type: 'transcript.text.segment' }, delta('ße'), done('Grüße', usage)),
    );
    for (const size of [1, 7, bytes.length]) {
      const { transport, opening } = open();
      for (let at = 0; at < bytes.length; at += size) transport.data(bytes.subarray(at, at + size));
      transport.end();
      const { texts, stream } = await textsOf(opening);
      expect(texts).toEqual(['Grü', 'ße']);
      expect(stream.progress).toEqual({
        text: 'Grüße',
        outputBytes: 7,
        reportedSeconds: null,
        usage: expect.objectContaining({ inputText: 4, inputAudio: 10, outputText: 6 }),
      });
    }
  });

  it('writes only the fields of the OpenAPI document', async () => {
    const { transport, opening } = open();
    transport.data(sse({ ...delta('a'), logprobs: [{ token: 'a' }], obfuscation: 'xyz' }, done('a'))).end();
    const sink = new CollectingSink();
    await (await opening).pipe(sink);
    expect(sink.output.toString()).toBe('data: {"type":"transcript.text.delta","delta":"a"}\n\n');
  });

  it('completes with the last event, even if the upstream never ends its reply', async () => {
    const { transport, opening } = open();
    transport.data(sse(delta('a'), done('a')));
    expect((await textsOf(opening)).texts).toEqual(['a']);
    transport.end();
  });

  it('accepts silence, and hosts that send all text at the end', async () => {
    const silent = open();
    silent.transport.data(sse(done(''))).end();
    expect((await textsOf(silent.opening)).texts).toEqual([]);
    const late = open();
    late.transport.data(sse(done('all of it'))).end();
    expect((await textsOf(late.opening)).texts).toEqual(['all of it']);
  });

  it('understands the chunks of vLLM', async () => {
    const chunk = (content: string, reason: string | null = null): object => ({
      object: 'transcription.chunk',
      choices: [{ delta: { content }, finish_reason: reason }],
    });
    const { transport, opening } = open();
    transport.data(sse(chunk('Hel'), chunk('lo'), chunk('', 'stop'), '[DONE]')).end();
    expect((await textsOf(opening)).texts).toEqual(['Hel', 'lo']);
  });

  it.each([
    ['nothing', (transport: ScriptedTransport) => transport.end(), 'provider_disconnect', 'first_token'],
    [
      'an error',
      (transport: ScriptedTransport) => transport.data(sse({ error: { type: 'rate_limit_exceeded' } })),
      'provider_rate_limited',
      'first_token',
    ],
    [
      'an error event',
      (transport: ScriptedTransport) => transport.data(sse({ type: 'error', message: 'x' })),
      'provider_error',
      'first_token',
    ],
    [
      'invalid JSON',
      (transport: ScriptedTransport) => transport.data('data: upstream error\n\n'),
      'provider_error',
      'first_token',
    ],
  ])('fails before the first text on %s', async (_name, play, code, phase) => {
    const { transport, opening } = open();
    play(transport);
    const error = await providerErrorOf(opening);
    expect([error.code, error.options.phase]).toEqual([code, phase]);
  });

  it.each([
    ['ends without its last event', (transport: ScriptedTransport) => transport.end(), 'provider_disconnect'],
    ['loses its connection', (transport: ScriptedTransport) => transport.breakConnection(), 'stream_interrupted'],
    [
      'sends an error',
      (transport: ScriptedTransport) => transport.data(sse({ error: { type: 'server_error' } })),
      'stream_interrupted',
    ],
    [
      'sends invalid JSON',
      (transport: ScriptedTransport) => transport.data('data: {"type":\n\n'),
      'stream_interrupted',
    ],
  ])('fails when the upstream %s', async (_name, play, code) => {
    const { transport, opening } = open();
    transport.data(sse(delta('half')));
    const stream = await opening;
    play(transport);
    const sink = new CollectingSink();
    const error = await providerErrorOf(stream.pipe(sink));
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'stream', false]);
    expect(sink.chunks).toEqual([delta('half')]);
  });
});
