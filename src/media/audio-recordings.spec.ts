import { Mp4OutputFormat, OggOutputFormat, WebMOutputFormat } from 'mediabunny';
import {
  AAC_FRAME,
  FLAC,
  MP3_FRAME,
  OPUS_PACKET,
  RATE,
  box,
  edited,
  pack,
  repeat,
  riffChunk,
  tracks,
  wav,
} from '../../test/harness/sound-files';
import { AudioProbe } from './audio-probe';

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

const secondsOf = async (bytes: Buffer): Promise<number> =>
  (await probe.probe(bytes, 'file', 'organization')).durationSeconds;

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

  it('counts the longer one of two kinds of frames, of which decoders play one', async () => {
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 3), repeat(MP3_FRAME, 100)]))).toBe(2.612);
    expect(await secondsOf(Buffer.concat([repeat(MP3_FRAME, 3), slowAac]))).toBe(12.8);
  });

  it('counts every block of a frame of aac', async () => {
    const fourBlocks = Buffer.from(AAC_FRAME).fill(0xff, 6, 7);
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 100), repeat(fourBlocks, 100)]))).toBe(11.61);
  });

  const ogg = pack(new OggOutputFormat(), 'opus', OPUS_PACKET, 500, 0.02);
  const film = pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 100, 1_024 / 44_100);
  const TITLE = riffChunk('LIST', Buffer.from('INFO'));
  const longBox = Buffer.from('00000001667265650000000000000018' + '00'.repeat(8), 'hex');
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
    ['wav, the first shorter', async () => Buffer.concat([wav(1), riffChunk('data', Buffer.alloc(RATE * 20))])],
    [
      'wav of two pieces between which there is a title',
      async () => wav(1, { behind: Buffer.concat([TITLE, riffChunk('data', Buffer.alloc(RATE * 20))]) }),
    ],
    ['wav of two formats', async () => Buffer.concat([wav(10), riffChunk('fmt ', wav(1).subarray(20, 36))])],
    ['mp4 with a table and fragments', async () => Buffer.concat([await film, box('moof', Buffer.alloc(8))])],
    [
      'mp4 with a table and fragments, before which an empty table stands',
      async () => {
        const bytes = await film;
        const head = bytes.readUInt32BE(0);
        const empty = box('free', box('stsz', Buffer.alloc(12)));
        return Buffer.concat([bytes.subarray(0, head), empty, bytes.subarray(head), box('moof', Buffer.alloc(8))]);
      },
    ],
    [
      'mp4 with fragments behind a long box',
      async () => Buffer.concat([await film, longBox, box('moof', Buffer.alloc(8))]),
    ],
    ['mp4 that plays one piece again and again', async () => edited(60)],
    ['mp4 of more tracks than anybody listens to', () => tracks(17)],
  ])('is refused where readers would disagree: %s', async (_what, make) => {
    await expect(probe.probe(await make(), 'file', 'organization')).rejects.toMatchObject({
      code: 'validation_failed',
      param: 'file',
    });
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

describe('frames of mp3 in another container', () => {
  const frames = repeat(MP3_FRAME, 4);
  const film = pack(new Mp4OutputFormat({ fastStart: 'fragmented' }), 'aac', AAC_FRAME.subarray(7), 100, 0.02);

  it('near its beginning are a title, and do not count for its sound', async () => {
    const sound = wav(10);
    const titled = Buffer.concat([sound.subarray(0, 12), riffChunk('LIST', frames), sound.subarray(12)]);
    expect(await secondsOf(titled)).toBe(10);
    const bytes = await film;
    const head = bytes.readUInt32BE(0);
    const free = Buffer.concat([bytes.subarray(0, head), box('free', frames), bytes.subarray(head)]);
    expect(await secondsOf(free)).toBeGreaterThanOrEqual(2);
  });

  it.each([
    ['aiff', Buffer.from('FORM\0\0\0\0AIFFNAME')],
    ['caf', Buffer.from('caff\0\x01\0\0')],
    ['amr', Buffer.from('#!AMR\n')],
    ['asf', Buffer.from('3026b2758e66cf11', 'hex')],
    ['a transport stream', Buffer.alloc(376, 0x47)],
    ['mp4 without its first box', box('mdat', Buffer.alloc(8))],
  ])('are not taken for the sound of a file that begins as %s', async (_what, head) => {
    for (const tag of [Buffer.alloc(0), Buffer.from('ID3\x04\0\0\0\0\0\0')]) {
      await expect(secondsOf(Buffer.concat([tag, head, frames]))).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });

  it('count where the first of them was cut', async () => {
    expect(await secondsOf(Buffer.concat([Buffer.alloc(300, 0x33), repeat(MP3_FRAME, 100)]))).toBe(2.612);
  });
});

describe('codings that do not say how long they sound', () => {
  it('are refused where only the container tells: vorbis in webm', async () => {
    const bytes = await pack(new WebMOutputFormat(), 'vorbis', Buffer.from([0, 1, 2, 3]), 100, 0.000_1);
    await expect(secondsOf(bytes)).rejects.toMatchObject({ code: 'validation_failed', param: 'file' });
  });
});
