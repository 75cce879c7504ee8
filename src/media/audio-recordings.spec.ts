import { Mp4OutputFormat, OggOutputFormat, WebMOutputFormat } from 'mediabunny';
import { AAC_FRAME, FLAC, MP3_FRAME, OPUS_PACKET, edited, pack, repeat, tracks } from '../../test/harness/sound-files';
import { AudioProbe } from './audio-probe';

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

const secondsOf = async (bytes: Buffer): Promise<number> => (await probe.probe(bytes, 'file')).durationSeconds;

describe('a file of several recordings', () => {
  /** 100 frames of 576 samples at 8,000 Hz, 8 kbit/s: 7.2 s. */
  const slowMp3 = repeat(Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc4]), Buffer.alloc(68)]), 100);
  /** 100 frames of 1,024 samples at 8,000 Hz: 12.8 s. */
  const slowAac = repeat(Buffer.from(AAC_FRAME).fill(0x6c, 2, 3), 100);

  it('counts all of them where they are bare frames, each at its own rate and over gaps', async () => {
    expect(await secondsOf(Buffer.concat([repeat(MP3_FRAME, 100), slowMp3]))).toBe(9.812);
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 100), Buffer.alloc(100_000), slowAac]))).toBe(15.122);
    expect(await secondsOf(Buffer.concat([FLAC, FLAC]))).toBe(4);
    expect(await secondsOf(Buffer.concat([FLAC, FLAC.subarray(FLAC.indexOf('fff8', 0, 'hex'))]))).toBe(4);
  });

  it('counts every block of a frame of aac', async () => {
    const fourBlocks = Buffer.from(AAC_FRAME).fill(0xff, 6, 7);
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 100), repeat(fourBlocks, 100)]))).toBe(11.61);
  });

  const ogg = pack(new OggOutputFormat(), 'opus', OPUS_PACKET, 500, 0.02);
  const webm = pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 100, 0.02);
  it.each<[string, () => Promise<Buffer>]>([
    ['ogg, chained', async () => Buffer.concat([await ogg, await ogg])],
    [
      'ogg that goes on behind its end',
      async () => {
        const bytes = Buffer.from(await ogg);
        const secondPage = bytes.indexOf('OggS', 1);
        bytes[secondPage + 5] = 4;
        return bytes;
      },
    ],
    [
      'ogg that goes on under another number',
      async () => {
        const bytes = Buffer.from(await ogg);
        const lastPage = bytes.lastIndexOf('OggS');
        bytes.writeUInt8(bytes.readUInt8(lastPage + 14) ^ 1, lastPage + 14);
        return bytes;
      },
    ],
    ['webm', async () => Buffer.concat([await webm, await webm])],
    ['webm with a gap', async () => Buffer.concat([await webm, Buffer.alloc(100_000), await webm])],
    ['webm, the first cut off', async () => Buffer.concat([(await webm).subarray(0, 700), await webm])],
    ['mp4 that plays one piece again and again', async () => edited(60)],
    ['mp4 of more tracks than anybody listens to', () => tracks(17)],
  ])('is refused where readers would disagree: %s', async (_what, make) => {
    await expect(probe.probe(await make(), 'file')).rejects.toMatchObject({ code: 'validation_failed', param: 'file' });
  });

  it('is not meant by a pause before the only piece', async () => {
    expect(await secondsOf(await edited(1))).toBe(2.322);
  });

  it('counts packets of aac as the frames that fit into them', async () => {
    const crowded = await pack(new Mp4OutputFormat(), 'aac', Buffer.alloc(7_680, 0x21), 10, 0.001);
    expect(await secondsOf(crowded)).toBe(2.322);
  });

  it('counts every frame in packets of mp3, at its own rate', async () => {
    const crowded = await pack(new Mp4OutputFormat(), 'mp3', slowMp3, 2, 0.001);
    expect(await secondsOf(crowded)).toBe(14.4);
  });
});
