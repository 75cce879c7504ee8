import { CollectingSink, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../test/conformance/scripted-transport';
import type { SpeechFormat } from '../contract/speech';
import { AudioStream, contradictsFormat } from './audio-stream';

describe('AudioStream', () => {
  const open = (contentType: string, format: SpeechFormat = 'pcm') => {
    const transport = new ScriptedTransport();
    const opening = AudioStream.openStream({ format }, (receiver) =>
      transport.postForAudio('', '', providerCall(), receiver),
    );
    transport.begin({ 'content-type': contentType });
    return { transport, opening };
  };

  async function read(contentType: string, chunks: readonly Buffer[], format?: SpeechFormat): Promise<Buffer> {
    const { transport, opening } = open(contentType, format);
    for (const chunk of chunks) transport.data(chunk);
    transport.end();
    const sink = new CollectingSink();
    const stream = await opening;
    await stream.pipe(sink);
    expect(stream.progress.audioBytes).toBe(sink.output.length);
    return sink.output;
  }

  const level = (blocks: number, ...channels: number[]) =>
    Buffer.from(
      Int16Array.from({ length: blocks * channels.length }, (_, at) => channels[at % channels.length] ?? 0).buffer,
    );
  const middleOf = (pcm: Buffer) => pcm.readInt16LE(2 * Math.floor(pcm.length / 4));

  it.each([
    ['audio/pcm;rate=32000;channels=1', level(32_000, 1_000)],
    ['audio/pcm; rate=48000; channels=2', level(48_000, 500, 1_500)],
    ['audio/pcm;channels=2', level(24_000, 500, 1_500)],
  ])('brings a second of %s to the rate and the channel of the contract', async (contentType, second) => {
    const chunks = [second.subarray(0, 1), second.subarray(1, 30_001), second.subarray(30_001)];
    const pcm = await read(contentType, chunks);
    expect([pcm.length, middleOf(pcm)]).toEqual([48_000, 1_000]);
  });

  it.each([
    ['audio/pcm', 'pcm'],
    ['audio/pcm;rate=24000;channels=1', 'pcm'],
    ['audio/mpeg;rate=44100', 'mp3'],
  ] as const)('passes on what comes as %s', async (contentType, format) => {
    expect((await read(contentType, [Buffer.from('sound')], format)).toString()).toBe('sound');
  });

  it.each(['audio/pcm;rate=0', 'audio/pcm;rate=192000', 'audio/pcm;rate=24000;channels=6'])(
    'refuses %s, which cannot be converted',
    async (contentType) => {
      const { transport, opening } = open(contentType);
      const { code, options } = await providerErrorOf(opening);
      expect([code, options.phase, options.fallback, transport.aborted]).toEqual([
        'provider_error',
        'first_token',
        true,
        true,
      ]);
    },
  );
});

describe('contradictsFormat', () => {
  const beginnings: Readonly<Record<string, Buffer>> = {
    wav: Buffer.from('RIFF....WAVEfmt '),
    opus: Buffer.from('OggS....'),
    flac: Buffer.from('fLaC....'),
    mp3: Buffer.from([0xff, 0xfb, 0x90, 0x64]),
    aac: Buffer.from([0xff, 0xf1, 0x50, 0x80]),
  };

  it.each(Object.keys(beginnings) as SpeechFormat[])('distinguishes %s from all other formats', (format) => {
    const taken = Object.entries(beginnings).filter(([, bytes]) => !contradictsFormat(format, bytes));
    expect(taken.map(([name]) => name)).toEqual([format]);
  });

  it('accepts unknown bytes and loud samples', () => {
    expect(contradictsFormat('opus', Buffer.from([0x1a, 0x45, 0xdf, 0xa3]))).toBe(false);
    expect(contradictsFormat('wav', Buffer.from('R'))).toBe(false);
    expect(contradictsFormat('pcm', Buffer.from([0xff, 0xfb, 0xff, 0xff]))).toBe(false);
    expect(contradictsFormat('pcm', Buffer.from('RIFF....WAVE'))).toBe(true);
    expect(contradictsFormat('aac', Buffer.from('....ftypM4A '))).toBe(false);
    expect(contradictsFormat('mp3', Buffer.from('ID3'))).toBe(false);
    expect(contradictsFormat('aac', Buffer.from('ID3'))).toBe(false);
    expect(contradictsFormat('wav', Buffer.from('ID3'))).toBe(true);
  });
});
