/** Recordings that are crafted to play longer than they appear. */
import { deflateSync } from 'node:zlib';
import { Mp4OutputFormat, WebMOutputFormat } from 'mediabunny';
import { readOgg } from '../../src/core/media/container-readers';
import { oggSink, OggWriter } from '../../src/core/media/container-writers';
import type { RecordingName } from './sound-decoder';
import {
  box,
  edited,
  MP3_FRAME,
  mp3Count,
  OPUS_PACKET,
  OPUS_SHORT_FRAMES,
  pack,
  repeat,
  riffChunk,
} from './sound-files';

type Recordings = Readonly<Record<RecordingName, Buffer>>;

export interface HostileRecording {
  readonly name: string;
  readonly make: (recordings: Recordings) => Buffer | Promise<Buffer>;
}

/** A fragment that announces an hour of audio. */
const FRAGMENT = box(
  'moof',
  Buffer.concat([
    box('mfhd', Buffer.alloc(8)),
    box('traf', Buffer.concat([box('tfhd', Buffer.from('0000000000000001', 'hex')), longRun(70_000)])),
  ]),
);

function longRun(samples: number): Buffer {
  const run = Buffer.alloc(12 + samples * 8);
  run.writeUInt32BE(0x301);
  run.writeUInt32BE(samples, 4);
  for (let at = 12; at < run.length; at += 8) {
    run.writeUInt32BE(1_024, at);
    run.writeUInt32BE(100, at + 4);
  }
  return box('trun', run);
}

const PARENTS: Readonly<Record<string, readonly string[]>> = {
  moov: ['moov'],
  udta: ['moov', 'udta'],
  trak: ['moov', 'trak'],
  edts: ['moov', 'trak', 'edts'],
  mdia: ['moov', 'trak', 'mdia'],
  minf: ['moov', 'trak', 'mdia', 'minf'],
  dinf: ['moov', 'trak', 'mdia', 'minf', 'dinf'],
  stbl: ['moov', 'trak', 'mdia', 'minf', 'stbl'],
};

/** Appends bytes to a box. The index of `ffmpeg` is last in a file, so no other offset changes. */
function within(film: Buffer, path: readonly string[], bytes: Buffer): Buffer {
  const [type, ...rest] = path;
  if (type === undefined) return Buffer.concat([film, bytes]);
  for (let at = 0; at + 8 <= film.length; at += film.readUInt32BE(at)) {
    if (film.toString('latin1', at + 4, at + 8) !== type) continue;
    const end = at + film.readUInt32BE(at);
    const inner = within(film.subarray(at + 8, end), rest, bytes);
    return Buffer.concat([film.subarray(0, at), box(type, inner), film.subarray(end)]);
  }
  throw new Error(`no ${type}`);
}

/** Changes a copy of the bytes after the first occurrence of a marker. */
function patched(file: Buffer, marker: string, patch: (bytes: Buffer) => unknown): Buffer {
  const copy = Buffer.from(file);
  const at = copy.indexOf(marker, 0, 'latin1');
  if (at === -1) throw new Error(`no ${marker}`);
  patch(copy.subarray(at));
  return copy;
}

const AAC_CONFIG = Buffer.from([5, 0x80, 0x80, 0x80, 5]);

/** Spectral band replication from 22,050 to 96,000 Hz, which no decoder supports. */
function withFalseReplication(film: Buffer): Buffer {
  const copy = Buffer.from(film);
  const at = copy.indexOf(AAC_CONFIG) + AAC_CONFIG.length;
  // 00101 0111 0001 0000 00010 000, then zeros.
  copy.set([0b00101_011, 0b1_0001_000, 0b0_00010_00, 0, 0], at);
  return copy;
}

function frequencyIndex(film: Buffer, index: number): Buffer {
  const copy = Buffer.from(film);
  const at = copy.indexOf(AAC_CONFIG) + AAC_CONFIG.length;
  copy.set([0b00010_000 | (index >> 1), ((index & 1) << 7) | 0b1000, 0, 0, 0], at);
  return copy;
}

/** The payloads of the ADTS frames. */
function payloads(adts: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at + 7 <= adts.length;) {
    const length = (adts.readUInt32BE(at + 3) >>> 13) & 0x1fff;
    found.push(adts.subarray(at + 7, at + length));
    at += length;
  }
  return found;
}

/** Several frames after one header. */
function crowded(adts: Buffer, perHeader: number): Buffer {
  const frames = payloads(adts);
  const parts: Buffer[] = [];
  for (let index = 0; index + perHeader <= frames.length; index += perHeader) {
    const payload = Buffer.concat(frames.slice(index, index + perHeader));
    const header = Buffer.from(adts.subarray(0, 7));
    const length = payload.length + 7;
    header.writeUInt8((header.readUInt8(3) & 0xfc) | (length >> 11), 3);
    header.writeUInt8((length >> 3) & 0xff, 4);
    header.writeUInt8(((length & 7) << 5) | 0x1f, 5);
    parts.push(header, payload);
  }
  return Buffer.concat(parts);
}

/** The same packets, the third of them followed by bytes that look like the end of another setup header. */
function withSetupJunk(vorbis: Buffer): Buffer {
  const sink = oggSink(vorbis.length);
  const writer = new OggWriter(sink, 48_000);
  let index = 0;
  for (const packet of readOgg(vorbis).packets()) {
    if (index === 2) writer.addHeader(Buffer.concat([packet, Buffer.alloc(400, 0), Buffer.from([0, 0, 0, 0, 1])]));
    else if (index < 2) writer.addHeader(packet);
    else writer.add(packet, 1_024);
    index++;
  }
  writer.finish();
  return Buffer.from(sink.view());
}

function compressedIndex(film: Buffer): Buffer {
  const at = film.indexOf('moov') - 4;
  const movie = film.subarray(at, at + film.readUInt32BE(at));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(movie.length);
  const packed = Buffer.concat([
    box('dcom', Buffer.from('zlib')),
    box('cmvd', Buffer.concat([size, deflateSync(movie)])),
  ]);
  return Buffer.concat([film.subarray(0, at), box('moov', box('cmov', packed))]);
}

/** A chunk table that names the first chunk a thousand times. */
function repeatedChunk(film: Buffer): Buffer {
  const at = film.indexOf('stco') + 12;
  const table = Buffer.alloc(8 + 4_000);
  table.writeUInt32BE(1_000, 4);
  for (let entry = 8; entry < table.length; entry += 4) table.writeUInt32BE(film.readUInt32BE(at), entry);
  const renamed = Buffer.from(film);
  renamed.write('free', renamed.indexOf('stco'), 'latin1');
  return within(renamed, PARENTS['stbl'] ?? [], box('stco', table));
}

/** MP3 frames that a reader can mistake for a transport stream. */
function transportFrames(): Buffer {
  const bytes = repeat(MP3_FRAME, 200);
  for (let at = 100; at < bytes.length; at += 188) if (bytes[at] === 0) bytes[at] = 0x47;
  return bytes;
}

export const HOSTILE_RECORDINGS: readonly HostileRecording[] = [
  ...Object.entries(PARENTS).map(([name, path]) => ({
    name: `mp4 with a fragment in ${name}`,
    make: (recordings: Recordings) => within(recordings['aac.m4a'], path, FRAGMENT),
  })),
  { name: 'mp4 with a fragment behind its table', make: (all) => Buffer.concat([all['aac.m4a'], FRAGMENT]) },
  {
    name: 'mp4 with a second table of sizes',
    make: (all) =>
      within(all['aac.m4a'], PARENTS['stbl'] ?? [], box('stsz', Buffer.from('000000000000006400010000', 'hex'))),
  },
  { name: 'mp4 that names one chunk a thousand times', make: (all) => repeatedChunk(all['aac.m4a']) },
  { name: 'mp4 that plays one piece sixty times', make: () => edited(60) },
  {
    name: 'mp4 whose packets last no time',
    make: (all) => patched(all['aac.m4a'], 'stts', (box) => box.writeUInt32BE(1, 16)),
  },
  { name: 'mov with a compressed index', make: (all) => compressedIndex(all['aac.mov']) },
  { name: 'aac with a false rate of replication', make: (all) => withFalseReplication(all['aac.m4a']) },
  { name: 'aac with another core rate', make: (all) => frequencyIndex(all['aac.m4a'], 0) },
  {
    name: 'aac with another rate in its sample entry',
    make: (all) => patched(all['aac.m4a'], 'mp4a', (entry) => entry.writeUInt32BE(96_000 * 0x8000, 28)),
  },
  {
    name: 'aac with many frames in a packet',
    make: (all) => pack(new Mp4OutputFormat(), 'aac', Buffer.concat(payloads(all['adts.aac'])), 1, 0.001),
  },
  { name: 'adts with many frames behind a header', make: (all) => crowded(all['adts.aac'], 8) },
  {
    name: 'adts of two rates',
    make: (all) => {
      const slow = crowded(all['adts.aac'], 1);
      for (let at = 0; at + 7 <= slow.length; at += (slow.readUInt32BE(at + 3) >>> 13) & 0x1fff) slow[at + 2] = 0x6c;
      return Buffer.concat([all['adts.aac'], slow]);
    },
  },
  {
    name: 'alac with another rate in its sample entry',
    make: (all) => patched(all['alac.m4a'], 'alac', (entry) => entry.writeUInt32BE(64_000 * 0x8000, 28)),
  },
  {
    name: 'alac with long frames in its cookie',
    make: (all) => patched(all['alac.m4a'], '\0\0\0\x24alac', (cookie) => cookie.writeUInt32BE(32_768, 12)),
  },
  {
    name: 'alac with another rate in its cookie',
    make: (all) => patched(all['alac.m4a'], '\0\0\0\x24alac', (cookie) => cookie.writeUInt32BE(128_000, 32)),
  },
  { name: 'vorbis with junk behind its setup header', make: (all) => withSetupJunk(all['vorbis.ogg']) },
  {
    name: 'vorbis with another rate in its head',
    make: (all) => patched(all['vorbis.ogg'], '\x01vorbis', (head) => head.writeUInt32LE(176_400, 12)),
  },
  { name: 'ogg, chained', make: (all) => Buffer.concat([all['opus.ogg'], all['opus.ogg'], all['opus.ogg']]) },
  { name: 'ogg of two codings', make: (all) => Buffer.concat([all['opus.ogg'], all['vorbis.ogg']]) },
  { name: 'opus of six channels', make: (all) => all['surround.ogg'] },
  {
    name: 'webm whose packets last no time',
    make: () => pack(new WebMOutputFormat(), 'opus', OPUS_PACKET, 200, 0.000_1),
  },
  { name: 'webm of packed frames', make: () => pack(new WebMOutputFormat(), 'opus', OPUS_SHORT_FRAMES, 20, 0.000_1) },
  { name: 'webm with a second segment', make: (all) => Buffer.concat([all['opus.webm'], all['opus.webm']]) },
  {
    name: 'wav that announces little',
    make: (all) => patched(all['pcm.wav'], 'data', (chunk) => chunk.writeUInt32LE(160, 4)),
  },
  {
    name: 'wav of wide samples',
    make: (all) => patched(all['pcm.wav'], 'fmt ', (chunk) => chunk.writeUInt16LE(64, 20)),
  },
  {
    name: 'wav of two pieces',
    make: (all) => Buffer.concat([all['pcm.wav'], riffChunk('data', Buffer.alloc(160_000))]),
  },
  { name: 'mp3 that counts few frames', make: (all) => Buffer.concat([mp3Count(2), all['layer3.mp3']]) },
  { name: 'mp3 of two rates', make: (all) => Buffer.concat([repeat(MP3_FRAME, 20), all['layer3.mp3']]) },
  { name: 'mp3 that looks like a transport stream', make: transportFrames },
  {
    name: 'flac that announces one sample',
    make: (all) => patched(all['frames.flac'], 'fLaC', (head) => head.fill(0, 22, 25).writeUInt8(1, 25)),
  },
  { name: 'flac, one file behind another', make: (all) => Buffer.concat([all['frames.flac'], all['frames.flac']]) },
  {
    name: 'flac with another rate in its head',
    make: (all) => patched(all['frames.flac'], 'fLaC', (head) => head.writeUInt8(0xff, 18)),
  },
];
