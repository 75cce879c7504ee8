/** Audio files, built byte by byte where they must be invalid. */
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  Mp4OutputFormat,
  Output,
  type OutputFormat,
} from 'mediabunny';

/** Samples per second of `wav`. */
export const RATE = 16_000;

/** Mono, 16 bits. `announced` overrides the data size in the header. */
export function wav(
  seconds: number,
  { announced = seconds * RATE * 2, behind = Buffer.alloc(0), alignment = 2 } = {},
): Buffer {
  const sound = Buffer.alloc(seconds * RATE * 2);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + sound.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * alignment, 28);
  head.writeUInt16LE(alignment, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(announced, 40);
  return Buffer.concat([head, sound, behind]);
}

/** A chunk of a RIFF file. */
export function riffChunk(id: string, bytes: Buffer): Buffer {
  const head = Buffer.from(`${id}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}

/** A box of an mp4. */
export function box(type: string, bytes: Buffer): Buffer {
  const head = Buffer.from(`\0\0\0\0${type}`, 'latin1');
  head.writeUInt32BE(8 + bytes.length);
  return Buffer.concat([head, bytes]);
}

export const repeat = (frame: Buffer, count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => frame));

/** A silent frame of 1,152 samples at 44,100 Hz, 128 kbit/s. */
export const MP3_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x64]), Buffer.alloc(413)]);
/** The frame that contains the frame count. */
export function mp3Count(frames: number): Buffer {
  const frame = Buffer.from(MP3_FRAME);
  frame.write('Xing', 36);
  frame.writeUInt32BE(1, 40);
  frame.writeUInt32BE(frames, 44);
  return frame;
}

/** One channel without any spectrum, and the end of the frame. */
export const SILENT_AAC = Buffer.from([0, 0, 0, 7]);

/** A frame of 1,024 samples at 44,100 Hz, mono. */
export const AAC_FRAME = ((length: number): Buffer => {
  const head = [0xff, 0xf1, 0x50, 0x40 | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc];
  return Buffer.concat([Buffer.from(head), SILENT_AAC, Buffer.alloc(length - 7 - SILENT_AAC.length)]);
})(64);

/** The three Vorbis headers, of which only the first is read: mono, 44,100 Hz, blocks of 256 and 2,048 samples. */
const VORBIS_HEADS = Buffer.concat([
  Buffer.from([2, 30, 7]),
  Buffer.from(`01766f72626973000000000144ac0000${'00'.repeat(12)}b801`, 'hex'),
  Buffer.from('\x03vorbis\x05vorbis', 'latin1'),
]);

/** `count` packets in a container, each of which begins `step` seconds after the last. */
export async function pack(
  format: OutputFormat,
  codec: 'opus' | 'aac' | 'mp3' | 'vorbis',
  packet: Uint8Array,
  count: number,
  step: number,
): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const source = new EncodedAudioPacketSource(codec);
  output.addAudioTrack(source);
  await output.start();
  const opusHead = Buffer.from('4f707573486561640101380180bb0000000000', 'hex');
  const descriptions = { opus: opusHead, aac: Buffer.from([0x12, 0x08]), mp3: undefined, vorbis: VORBIS_HEADS };
  const decoderConfig = {
    codec: codec === 'aac' ? 'mp4a.40.2' : codec,
    numberOfChannels: 1,
    sampleRate: codec === 'opus' ? 48_000 : 44_100,
    description: descriptions[codec],
  };
  for (let index = 0; index < count; index++) {
    await source.add(new EncodedPacket(packet, 'key', index * step, step), { decoderConfig });
  }
  await output.finalize();
  return Buffer.from(target.buffer as ArrayBuffer);
}
/** An mp4 of 100 frames, whose edit list repeats a pause and the whole track this many times. */
export async function edited(times: number): Promise<Buffer> {
  const film = await pack(new Mp4OutputFormat(), 'aac', AAC_FRAME.subarray(7), 100, 1_024 / 44_100);
  const list = Buffer.alloc(24 + 12 * (times + 1));
  list.writeUInt32BE(list.length, 0);
  list.write('edts', 4);
  list.writeUInt32BE(list.length - 8, 8);
  list.write('elst', 12);
  list.writeUInt32BE(times + 1, 20);
  for (let entry = 0; entry <= times; entry++) {
    list.writeUInt32BE(entry === 0 ? 1 : 2_322, 24 + 12 * entry);
    list.writeInt32BE(entry === 0 ? -1 : 0, 28 + 12 * entry);
    list.writeUInt32BE(0x10000, 32 + 12 * entry);
  }
  const at = film.indexOf('mdia') - 4;
  const chunks = film.indexOf('stco') + 8;
  for (let chunk = chunks + 4; chunk < chunks + 4 + 4 * film.readUInt32BE(chunks); chunk += 4) {
    film.writeUInt32BE(film.readUInt32BE(chunk) + list.length, chunk);
  }
  for (const box of ['moov', 'trak']) {
    const sizeAt = film.indexOf(box) - 4;
    film.writeUInt32BE(film.readUInt32BE(sizeAt) + list.length, sizeAt);
  }
  return Buffer.concat([film.subarray(0, at), list, film.subarray(at)]);
}

export async function tracks(count: number): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const sources = Array.from({ length: count }, () => new EncodedAudioPacketSource('aac'));
  for (const source of sources) output.addAudioTrack(source);
  await output.start();
  const decoderConfig = {
    codec: 'mp4a.40.2',
    numberOfChannels: 1,
    sampleRate: 44_100,
    description: Buffer.from([0x12, 0x08]),
  };
  for (const source of sources) {
    await source.add(new EncodedPacket(AAC_FRAME.subarray(7), 'key', 0, 1_024 / 44_100), { decoderConfig });
    source.close();
  }
  await output.finalize();
  return Buffer.from(target.buffer as ArrayBuffer);
}

/** One frame of 20 ms. */
export const OPUS_PACKET = Buffer.from([0x78, 1, 2, 3]);
/** 48 frames of 2.5 ms, all of them silent. */
export const OPUS_SHORT_FRAMES = Buffer.from([0x83, 48]);

/** Two seconds of silence at 16,000 Hz, in eight frames. */
export const FLAC = Buffer.from(
  'ZkxhQ4AAACIQABAAAAAMAAAOA+gBcAAAfQAAAAAAAAAAAAAAAAAAAAAA//jFDAA7AAAAAEh+//jFDAE8AAAAADEW//jFDAI1AAAAALqu//jFDAMyAAAA' +
    'AMPG//jFDAQnAAAAAC3b//jFDAUgAAAAAFSz//jFDAYpAAAAAN8L//h1DAcM/7YAAAAA4Vw=',
  'base64',
);
