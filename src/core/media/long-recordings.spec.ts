import { AAC_FRAME, MP3_FRAME, SILENT_AAC, repeat } from '../../../test/harness/sound-files';
import { AudioProbe } from './media-probes';
import { AacRemuxer, OpusRemuxer } from './packet-remuxers';

const MAX_UPLOAD_BYTES = 26_214_400;
const HOUR_SECONDS = 3_600;
const AAC_FRAMES_PER_HOUR = (HOUR_SECONDS * 44_100) / 1_024;

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

/** A silent frame of AAC at 44,100 Hz, with the size of the given bit rate. */
function aacFrame(bitsPerSecond: number): Buffer {
  const bytes = Math.floor((bitsPerSecond / 8 / 44_100) * 1_024);
  // A data element that fills the frame before its end.
  const fill = bytes - SILENT_AAC.length - 3;
  const bits = `${'0'.repeat(29)}100${'0000'}0${fill.toString(2).padStart(8, '0')}${'0'.repeat(fill * 8)}111`;
  return Buffer.from(
    bits
      .padEnd(bytes * 8, '0')
      .match(/.{8}/g)
      ?.map((byte) => parseInt(byte, 2)) ?? [],
  );
}

function mp4(hours: number, bitsPerSecond: number): Buffer {
  const remuxer = new AacRemuxer({ rateIndex: 4, channels: 1 }, MAX_UPLOAD_BYTES);
  const frame = aacFrame(bitsPerSecond);
  for (let index = 0; index < hours * AAC_FRAMES_PER_HOUR; index++) remuxer.add(frame);
  return Buffer.from(remuxer.finish().bytes);
}

function ogg(hours: number, packetBytes: number): Buffer {
  const remuxer = new OpusRemuxer(null, MAX_UPLOAD_BYTES);
  // One frame of 20 ms.
  const packet = Buffer.alloc(packetBytes, 1).fill(0x78, 0, 1);
  for (let index = 0; index < hours * HOUR_SECONDS * 50; index++) remuxer.add(packet);
  return Buffer.from(remuxer.finish().bytes);
}

describe('a long recording within the upload limit', () => {
  it.each<[string, number, () => Buffer]>([
    ['90 minutes of aac at 32 kbit/s in mp4', 1.5, () => mp4(1.5, 32_000)],
    ['two hours of aac at 24 kbit/s in mp4', 2, () => mp4(2, 24_000)],
    ['two hours of aac in adts', 2, () => repeat(AAC_FRAME, Math.ceil(2 * AAC_FRAMES_PER_HOUR))],
    ['two hours of opus at 24 kbit/s', 2, () => ogg(2, 60)],
    ['eight hours of opus at 6 kbit/s', 8, () => ogg(8, 15)],
    // 24 kbit/s at 24,000 Hz: 72 bytes for 576 samples.
    [
      'two hours of mp3 at 24 kbit/s',
      2,
      () => repeat(Buffer.concat([Buffer.from([0xff, 0xf3, 0x34, 0xc4]), Buffer.alloc(68)]), 300_000),
    ],
    ['26 minutes of mp3 at 128 kbit/s', 26 / 60, () => repeat(MP3_FRAME, Math.ceil((26 * 60 * 44_100) / 1_152))],
  ])(
    'is measured: %s',
    async (_what, hours, make) => {
      const file = make();
      expect(file.length).toBeLessThanOrEqual(MAX_UPLOAD_BYTES);
      const { durationSeconds, bytes } = await probe.probe(file, 'file', 'organization');
      expect(Math.abs(durationSeconds - hours * HOUR_SECONDS)).toBeLessThan(1);
      expect(bytes.length).toBeLessThanOrEqual(file.length * 1.01);
    },
    120_000,
  );
});
