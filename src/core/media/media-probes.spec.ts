import { Mp4OutputFormat, OggOutputFormat, WebMOutputFormat } from 'mediabunny';
import {
  AAC_FRAME,
  FLAC,
  MP3_FRAME,
  OPUS_PACKET,
  OPUS_SHORT_FRAMES,
  RATE,
  mp3Count,
  pack,
  repeat,
  wav,
} from '../../../test/harness/sound-files';
import { GatewayError } from '../errors/gateway-error';
import { AudioProbe } from './media-probes';

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

const secondsOf = async (bytes: Buffer): Promise<number> =>
  (await probe.probe(bytes, 'file', 'organization')).durationSeconds;

async function refusalOf(bytes: Buffer): Promise<readonly [code: string, param: string | undefined]> {
  try {
    await probe.probe(bytes, 'file', 'organization');
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param];
    throw error;
  }
  throw new Error('the file was accepted');
}
const REFUSED = ['validation_failed', 'file'];

describe('an audio file', () => {
  it.each<[string, () => Buffer | Promise<Buffer>, number, string, string]>([
    ['wav', () => wav(3), 3, 'audio/wav', 'wav'],
    ['mp3', () => repeat(MP3_FRAME, 100), 2.612, 'audio/mpeg', 'mp3'],
    ['aac', () => repeat(AAC_FRAME, 100), 2.322, 'audio/mp4', 'm4a'],
    ['flac', () => FLAC, 2, 'audio/flac', 'flac'],
    ['ogg', () => pack(new OggOutputFormat(), 'opus', OPUS_PACKET, 100, 0.02), 2, 'audio/ogg', 'ogg'],
    ['webm', () => pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 100, 0.02), 2, 'audio/ogg', 'ogg'],
    [
      'mp4',
      () => pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 100, 1_024 / 44_100),
      2.322,
      'audio/mp4',
      'm4a',
    ],
  ])('in %s is measured to the millisecond', async (_format, make, durationSeconds, contentType, extension) => {
    const { bytes, ...probed } = await probe.probe(await make(), 'file', 'organization');
    expect(probed).toEqual({ durationSeconds, contentType, extension });
    // The sent file has the same measured duration.
    expect(await secondsOf(Buffer.from(bytes))).toBe(durationSeconds);
  });

  it('is a view into a form, and no other bytes are read', async () => {
    const form = Buffer.concat([Buffer.from('--b\r\n'), wav(1), Buffer.from('\r\n--b--')]);
    expect(await secondsOf(form.subarray(5, -7))).toBe(1);
    expect(form.length).toBe(5 + 44 + 32_000 + 7);
  });
});

describe('a header with a wrong duration', () => {
  it('of a wav is overridden by the audio data', async () => {
    expect(await secondsOf(wav(10, { announced: RATE * 2 }))).toBe(10);
    expect(await secondsOf(wav(10, { announced: 0 }))).toBe(10);
    expect(await secondsOf(wav(10, { announced: 0xffffffff }))).toBe(10);
  });

  it('of a wav cannot end the file before its audio', async () => {
    for (const announcedBytes of [60, 16_000, 0]) {
      const bytes = wav(10);
      bytes.writeUInt32LE(announcedBytes, 4);
      expect([announcedBytes, await secondsOf(bytes)]).toEqual([announcedBytes, 10]);
    }
  });

  it('of a wav is used when titles follow the audio', async () => {
    const title = Buffer.from('LIST\x06\0\0\0INFO\0\0', 'latin1');
    expect(await secondsOf(wav(10, { behind: title }))).toBe(10);
    expect(await secondsOf(wav(10, { behind: Buffer.concat([title, Buffer.alloc(3_200)]) }))).toBeCloseTo(10.1, 1);
  });

  it('of a wav cannot enlarge the samples', async () => {
    expect(await secondsOf(wav(10, { alignment: 40 }))).toBe(10);
  });

  it('of an mp3 is ignored: frames are counted', async () => {
    const honest = await secondsOf(Buffer.concat([mp3Count(400), repeat(MP3_FRAME, 400)]));
    expect(await secondsOf(Buffer.concat([mp3Count(10), repeat(MP3_FRAME, 400)]))).toBe(honest);
    expect(honest).toBeGreaterThanOrEqual(10.449);
  });

  it('of a flac is ignored: frames are counted', async () => {
    const lying = Buffer.from(FLAC);
    const total = lying.indexOf('03e801700000', 0, 'hex') + 4;
    for (const samples of [1, 16_000, 0xffffffff]) {
      lying.writeUInt32BE(samples, total);
      expect(await secondsOf(lying)).toBe(2);
    }
  });

  it('of an mp4 is ignored, for the movie and for its packets', async () => {
    const packets = await pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 500, 0.000_1);
    expect(await secondsOf(packets)).toBe(11.61);
    const film = await pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 500, 1_024 / 44_100);
    for (const [box, at] of [
      ['mvhd', 20],
      ['mdhd', 20],
    ] as const)
      film.writeUInt32BE(1, film.indexOf(box) + at);
    expect(await secondsOf(film)).toBe(11.61);
  });

  it('of a webm does not shorten packets', async () => {
    expect(await secondsOf(await pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 500, 0.001))).toBe(10);
    expect(await secondsOf(await pack(new WebMOutputFormat(), 'opus', OPUS_SHORT_FRAMES, 100, 0.001))).toBe(12);
  });

  it('of a webm does not lengthen packets, because pauses are not sent', async () => {
    expect(await secondsOf(await pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 11, 1))).toBe(0.22);
  });
});

describe('a file that is not audio', () => {
  const mp4 = pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 100, 0.02);
  it.each<[string, () => Buffer | Promise<Buffer>]>([
    ['nothing', () => Buffer.alloc(0)],
    ['a byte', () => Buffer.from([0xff])],
    ['text', () => Buffer.from('RIFF is what this text begins with')],
    ['an image', () => Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['25 MiB of zeros', () => Buffer.alloc(26_214_400)],
    ['25 MiB of ones', () => Buffer.alloc(26_214_400, 0xff)],
    ['a wav without sound', () => wav(0)],
    ['a wav with sizes in another chunk', () => wav(1).fill('RF64', 0, 4)],
    ['a wav of no rate', () => wav(1).fill(0, 24, 28)],
    ['a wav of no channels', () => wav(1).fill(0, 22, 24)],
    [
      'a wav of more than a day',
      () => {
        const bytes = wav(10);
        bytes.writeUInt32LE(1, 24);
        return bytes;
      },
    ],
    ['an mp4 without its end', async () => (await mp4).subarray(0, 200)],
    [
      'an ogg without its codec',
      async () => (await pack(new OggOutputFormat(), 'opus', OPUS_PACKET, 9, 0.02)).fill(0, 28, 36),
    ],
  ])('is refused: %s', async (_what, make) => {
    expect(await refusalOf(await make())).toEqual(REFUSED);
  });

  it('is refused when its tables declare billions of packets, and the next file is served', async () => {
    const endless = Buffer.from(await mp4);
    const [sizes, times] = [endless.indexOf('stsz'), endless.indexOf('stts')];
    endless.writeUInt32BE(1, sizes + 8);
    endless.writeUInt32BE(0xffffffff, sizes + 12);
    endless.writeUInt32BE(0xffffffff, times + 12);
    const first = Promise.all([refusalOf(endless), refusalOf(endless)]);
    expect([await secondsOf(wav(2)), await first]).toEqual([2, [REFUSED, REFUSED]]);
  });
});

describe('many files', () => {
  it('are all measured, two at a time', async () => {
    const seconds = Array.from({ length: 12 }, (_, index) => index + 1);
    expect(await Promise.all(seconds.map((length) => secondsOf(wav(length))))).toEqual(seconds);
  });
});
