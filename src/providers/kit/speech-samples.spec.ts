import { riffChunk } from '../../../test/harness/sound-files';
import { ProviderError } from '../contract/provider-error';
import { PcmReader, type SampleReader, SPEECH_RATE_HZ, WavReader } from './speech-samples';

const SAMPLES = [...Int16Array.from({ length: 4_000 }, (_, index) => 9_000 * Math.sin(index / 9))];
const LIST = riffChunk('LIST', Buffer.from('INFOISFT\x0e\0\0\0Lavf61.7.100\0\0', 'latin1'));
const UNKNOWN_LENGTH = 0xff_ff_ff_ff;

function bytesOf(samples: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * samples.length);
  samples.forEach((sample, index) => bytes.writeInt16LE(sample, 2 * index));
  return bytes;
}

interface Format {
  readonly tag?: number;
  readonly channels?: number;
  readonly rateHz?: number;
  readonly bits?: number;
}

function formatChunk({ tag = 1, channels = 1, rateHz = SPEECH_RATE_HZ, bits = 16 }: Format = {}): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt16LE(tag, 0);
  content.writeUInt16LE(channels, 2);
  content.writeUInt32LE(rateHz, 4);
  content.writeUInt16LE(bits, 14);
  return riffChunk('fmt ', content);
}

function wav(chunks: readonly Buffer[], samples: readonly number[], announcedBytes = 2 * samples.length): Buffer {
  const data = riffChunk('data', bytesOf(samples));
  data.writeUInt32LE(announcedBytes, 4);
  return Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'), ...chunks, data]);
}

/** Reads the file in pieces that split headers and samples. */
function read(reader: SampleReader, file: Buffer, pieceBytes: number): number[] {
  const samples: number[] = [];
  for (let at = 0; at < file.length; at += pieceBytes) samples.push(...reader.read(file.subarray(at, at + pieceBytes)));
  return [...samples, ...reader.end()];
}

describe.each([1, 7, 4_096])('in pieces of %i bytes', (pieceBytes) => {
  it('PCM yields its samples, without half of one at the end', () => {
    const bytes = Buffer.concat([bytesOf(SAMPLES), Buffer.from([1])]);
    expect(read(new PcmReader(), bytes, pieceBytes)).toEqual(SAMPLES);
  });

  it.each<[string, Buffer]>([
    ['a plain header', wav([formatChunk()], SAMPLES)],
    // https://github.com/pipecat-ai/pipecat/pull/2008
    ['a header with more chunks, as Groq sends it', wav([formatChunk(), LIST], SAMPLES, UNKNOWN_LENGTH)],
    ['no announced length', wav([LIST, formatChunk()], SAMPLES, 0)],
    ['chunks behind the samples', Buffer.concat([wav([formatChunk()], SAMPLES), LIST])],
  ])('a WAV file with %s yields its samples and nothing else', (_what, file) => {
    expect(read(new WavReader(), file, pieceBytes)).toEqual(SAMPLES);
  });

  it('a WAV file in stereo at another rate becomes mono at 24 kHz', () => {
    const stereo = SAMPLES.flatMap((sample) => [sample + 1_000, sample - 1_000]);
    const mono = read(new WavReader(), wav([formatChunk({ rateHz: 48_000 })], SAMPLES), pieceBytes);
    const mixed = read(new WavReader(), wav([formatChunk({ rateHz: 48_000, channels: 2 })], stereo), pieceBytes);
    expect([mono.length, mixed]).toEqual([SAMPLES.length / 2, mono]);
  });
});

describe('a WAV file that cannot be converted', () => {
  it.each<[string, Buffer]>([
    ['is none', Buffer.from('<html>no sound today</html>')],
    ['has no format', wav([], SAMPLES)],
    ['has a format that is cut off', wav([riffChunk('fmt ', Buffer.alloc(8))], SAMPLES)],
    ['has 8-bit samples', wav([formatChunk({ bits: 8 })], SAMPLES)],
    ['has mu-law', wav([formatChunk({ tag: 7, bits: 8 })], SAMPLES)],
    ['has floating-point samples', wav([formatChunk({ tag: 3, bits: 32 })], SAMPLES)],
    ['has three channels', wav([formatChunk({ channels: 3 })], SAMPLES)],
    ['has a rate that would need many kernels', wav([formatChunk({ rateHz: 23_999 })], SAMPLES)],
    ['ends within its header', wav([formatChunk()], SAMPLES).subarray(0, 40)],
    ['has an endless header', wav([formatChunk(), riffChunk('junk', Buffer.alloc(70_000))], SAMPLES)],
    [
      'announces a format of 4 GB',
      Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt \xff\xff\xff\xff', 'latin1'), Buffer.alloc(70_000)]),
    ],
  ])('is refused if it %s', (_what, file) => {
    expect(() => read(new WavReader(), file, 4_096)).toThrow(ProviderError);
  });
});
