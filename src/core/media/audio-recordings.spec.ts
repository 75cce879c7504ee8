import { Mp4OutputFormat, OggOutputFormat, WebMOutputFormat } from 'mediabunny';
import {
  AAC_FRAME,
  FLAC,
  MP3_FRAME,
  OPUS_PACKET,
  RATE,
  SILENT_AAC,
  box,
  edited,
  pack,
  repeat,
  riffChunk,
  tracks,
  wav,
} from '../../../test/harness/sound-files';
import { AudioProbe } from './media-probes';

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

const secondsOf = async (bytes: Buffer): Promise<number> =>
  (await probe.probe(bytes, 'file', 'organization')).durationSeconds;

describe('a file of several recordings', () => {
  /** 100 frames of 576 samples at 8,000 Hz, 8 kbit/s: 7.2 s. */
  const slowMp3 = repeat(Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc4]), Buffer.alloc(68)]), 100);
  /** 100 frames of 1,024 samples at 8,000 Hz: 12.8 s. */
  const slowAac = repeat(Buffer.from(AAC_FRAME).fill(0x6c, 2, 3), 100);

  it('counts all bare frames of one kind, across gaps', async () => {
    expect(await secondsOf(Buffer.concat([repeat(MP3_FRAME, 100), slowMp3]))).toBe(9.812);
    const gap = Buffer.alloc(100_000);
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 100), gap, repeat(AAC_FRAME, 100)]))).toBe(4.644);
    expect(await secondsOf(Buffer.concat([FLAC, FLAC.subarray(FLAC.indexOf('fff8', 0, 'hex'))]))).toBe(4);
  });

  it('sends only the first kind of frames when there are two', async () => {
    expect(await secondsOf(Buffer.concat([repeat(AAC_FRAME, 30), repeat(MP3_FRAME, 100)]))).toBe(0.697);
    expect(await secondsOf(Buffer.concat([repeat(MP3_FRAME, 30), slowAac]))).toBe(0.784);
  });

  const ogg = pack(new OggOutputFormat(), 'opus', OPUS_PACKET, 500, 0.02);
  const film = pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 100, 1_024 / 44_100);
  const withOggByte = (bytes: Buffer, at: (bytes: Buffer) => number, value: number): Buffer =>
    Buffer.from(bytes).fill(value, at(bytes), at(bytes) + 1);
  const TITLE = riffChunk('LIST', Buffer.from('INFO'));
  const webm = pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 100, 0.02);
  it.each<[string, () => Promise<Buffer>]>([
    ['ogg, chained', async () => Buffer.concat([await ogg, await ogg])],
    ['aac of two rates', async () => Buffer.concat([repeat(AAC_FRAME, 100), slowAac])],
    ['flac, one file behind another', async () => Buffer.concat([FLAC, FLAC])],
    ['wav, the first shorter', async () => Buffer.concat([wav(1), riffChunk('data', Buffer.alloc(RATE * 20))])],
    [
      'wav of two pieces between which there is a title',
      async () => wav(1, { behind: Buffer.concat([TITLE, riffChunk('data', Buffer.alloc(RATE * 20))]) }),
    ],
    ['wav of two formats', async () => Buffer.concat([wav(10), riffChunk('fmt ', wav(1).subarray(20, 36))])],
  ])('is refused when it is ambiguous: %s', async (_what, make) => {
    await expect(probe.probe(await make(), 'file', 'organization')).rejects.toMatchObject({
      code: 'validation_failed',
      param: 'file',
    });
  });

  it.each<[string, () => Promise<Buffer>, number]>([
    ['ogg behind its end', async () => withOggByte(await ogg, (bytes) => bytes.indexOf('OggS', 1) + 5, 4), 10],
    ['webm, the second', async () => Buffer.concat([await webm, await webm]), 2],
    ['mp4 in fragments behind its table', async () => Buffer.concat([await film, box('moof', Buffer.alloc(8))]), 2.322],
    ['mp4 that plays one piece again and again', async () => edited(60), 2.322],
    ['mp4 of many tracks', async () => tracks(17), 0.023],
  ])('sends only the counted audio: %s', async (_what, make, seconds) => {
    const { bytes, durationSeconds } = await probe.probe(await make(), 'file', 'organization');
    expect(durationSeconds).toBe(seconds);
    expect(/moof|elst|edts/.test(Buffer.from(bytes).toString('latin1'))).toBe(false);
    expect(await secondsOf(Buffer.from(bytes))).toBe(seconds);
  });

  it('counts every frame in packets of aac, and sends one frame per packet', async () => {
    const crowded = await pack(new Mp4OutputFormat(), 'aac', repeat(SILENT_AAC, 10), 10, 0.001);
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

  it('near its beginning count as a title, not as audio', async () => {
    const sound = wav(10);
    const titled = Buffer.concat([sound.subarray(0, 12), riffChunk('LIST', frames), sound.subarray(12)]);
    expect(await secondsOf(titled)).toBe(10);
    const bytes = await film;
    const head = bytes.readUInt32BE(0);
    const free = Buffer.concat([bytes.subarray(0, head), box('free', frames), bytes.subarray(head)]);
    expect(await secondsOf(free)).toBe(2.322);
  });

  it.each([
    ['aiff', Buffer.from('FORM\0\0\0\0AIFFNAME')],
    ['caf', Buffer.from('caff\0\x01\0\0')],
    ['amr', Buffer.from('#!AMR\n')],
    ['asf', Buffer.from('3026b2758e66cf11', 'hex')],
    ['a transport stream', Buffer.alloc(376, 0x47)],
    ['mp4 without its first box', box('mdat', Buffer.alloc(8))],
  ])('do not count as audio in a file that begins as %s', async (_what, head) => {
    for (const tag of [Buffer.alloc(0), Buffer.from('ID3\x04\0\0\0\0\0\0')]) {
      await expect(secondsOf(Buffer.concat([tag, head, frames]))).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });

  it('count after a truncated first frame', async () => {
    expect(await secondsOf(Buffer.concat([Buffer.alloc(300, 0x33), repeat(MP3_FRAME, 100)]))).toBe(2.612);
  });
});

describe('vorbis', () => {
  it('is refused when its setup header is unreadable', async () => {
    const bytes = await pack(new WebMOutputFormat(), 'vorbis', Buffer.from([0, 1, 2, 3]), 100, 0.000_1);
    await expect(secondsOf(bytes)).rejects.toMatchObject({ code: 'validation_failed', param: 'file' });
  });
});
