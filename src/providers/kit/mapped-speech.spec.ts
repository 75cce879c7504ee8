import { Readable } from 'node:stream';
import { speechRequest } from '../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { wav } from '../../../test/harness/sound-files';
import type { ProviderCall } from '../contract/provider-call';
import type { SpeechRequest } from '../contract/speech';
import type { JsonObject } from './json';
import type { MappedQueue } from './mapped-queue';
import { MappedSpeech } from './mapped-speech';

const URL = 'https://files.example.com/a.wav';
const WAV = Buffer.from('RIFF\x04\0\0\0WAVE and samples', 'latin1');
const mapping = {
  map: { input: 'prompt', voice: 'voice', speed: 'rate' },
  output: { audio: '$.audio.url' },
};

let inputs: JsonObject[] = [];
const queue: MappedQueue = {
  submit: (input) => (inputs.push(input), Promise.resolve({ id: 'r1', urls: {} })),
  poll: () => Promise.resolve({ state: 'done', document: { audio: { url: URL } }, units: null }),
  cancel: () => Promise.resolve('canceled'),
};
const speak = (file: () => Readable, request: Partial<SpeechRequest> = {}, call: Partial<ProviderCall> = {}) =>
  new MappedSpeech(queue).speak(
    speechRequest({ format: 'wav', ...request }),
    providerCall({ mapping, openFile: () => Promise.resolve(file()), ...call }),
  );
const whole = () => Readable.from([WAV.subarray(0, 12), WAV.subarray(12)]);
beforeEach(() => {
  inputs = [];
});

describe('speech in a file of the vendor', () => {
  it('is submitted once with the mapped fields, and passed on as the file arrives', async () => {
    const opened: string[] = [];
    const openFile = (url: string) => (opened.push(url), Promise.resolve(whole()));
    const stream = await speak(whole, { input: 'Hello', voice: 'af_sky', speed: 1.5 }, { openFile });
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(inputs).toEqual([{ prompt: 'Hello', voice: 'af_sky', rate: 1.5 }]);
    expect([opened, sink.writes.length, sink.output.equals(WAV)]).toEqual([[URL], 2, true]);
    expect(stream.progress.audioBytes).toBe(WAV.length);
  });

  it('is encoded from the only format that the model has, whichever is requested', async () => {
    const only = { ...mapping, output: { ...mapping.output, audio_format: 'wav' } } as const;
    for (const [format, beginning] of [
      ['pcm', /^\0+$/],
      ['flac', /^fLaC/],
      ['wav', /^RIFF/],
    ] as const) {
      const stream = await speak(() => Readable.from([wav(1)]), { format }, { mapping: only });
      const sink = new CollectingSink();
      await stream.pipe(sink);
      expect(sink.output.toString('latin1')).toMatch(beginning);
    }
    expect(inputs.length).toBe(3);
  });

  it('is refused before anything is sent, if the model lacks an option', async () => {
    const { options } = await providerErrorOf(speak(whole, { instructions: 'Whisper.' }));
    expect([options.param, options.phase, inputs]).toEqual(['instructions', 'connect', []]);
  });

  it.each([
    ['an empty file', () => Readable.from([])],
    ['another format', () => Readable.from([Buffer.from('OggS')])],
    ['a host that does not deliver', () => Readable.from(failing())],
  ])('is left to the next deployment after %s, since nothing was delivered', async (_what, file) => {
    const { code, options } = await providerErrorOf(speak(file));
    expect([code, options.fallback, options.phase, inputs.length]).toEqual(['provider_error', true, 'first_token', 1]);
  });

  it('is interrupted when the file breaks off', async () => {
    const stream = await speak(() => Readable.from(failing(WAV)));
    expect((await providerErrorOf(stream.pipe(new CollectingSink()))).options.phase).toBe('stream');
  });
});

function* failing(...pieces: Buffer[]): Generator<Buffer> {
  yield* pieces;
  throw new Error('the connection is gone');
}
