/** Audio of MP4, QuickTime, WebM and Matroska files, demuxed by a library. */
import {
  BufferSource,
  EncodedPacketSink,
  Input,
  type InputAudioTrack,
  LogLevel,
  Logging,
  MATROSKA,
  MP4,
  QTFF,
  WEBM,
} from 'mediabunny';
import { readAacConfig } from './aac-frames';
import { FlacRemuxer, MpegRemuxer, PcmRemuxer } from './bare-remuxers';
import { AacRemuxer, AlacRemuxer, OpusRemuxer, type PacketRemuxer, VorbisRemuxer } from './packet-remuxers';
import type { ProbedAudio } from './media-probes';
import { readVorbisHeaders } from './vorbis-headers';

// The library would print content of client files to the console.
Logging.level = LogLevel.Silent;

/** Start of the box with the ALAC cookie: size, type and zero version. */
const ALAC_BOX = Buffer.from('\0\0\0\x24alac\0\0\0\0', 'latin1');

/**
 * Records the first audio track.
 * @param assertCpuLimit called for every packet; throws when the file has taken too long.
 * @throws Error for a file without audio of a known coding.
 */
export async function remuxContainer(bytes: Uint8Array<ArrayBuffer>, assertCpuLimit: () => void): Promise<ProbedAudio> {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF, WEBM, MATROSKA] });
  try {
    const [track] = await input.getAudioTracks();
    if (track === undefined) throw new Error('no audio');
    const remuxer = await remuxerOf(track, bytes);
    let packets = 0;
    for (const packet of remuxer instanceof PcmRemuxer ? [] : framesOf(Buffer.from(bytes.buffer))) {
      remuxer.add(packet);
      packets++;
      assertCpuLimit();
    }
    if (packets > 0) return remuxer.finish();
    for await (const packet of new EncodedPacketSink(track).packets()) {
      remuxer.add(packet.data);
      assertCpuLimit();
    }
    return remuxer.finish();
  } finally {
    input.dispose();
  }
}

/** Yields none, so that the library finds the frames. */
function* framesOf(file: Buffer): Generator<Buffer> {
  yield* mp4Samples(file);
  yield* webmFrames(file);
}

async function remuxerOf(track: InputAudioTrack, file: Uint8Array<ArrayBuffer>): Promise<PacketRemuxer> {
  const size = file.length;
  const codec = (await track.getCodec()) ?? String(await track.getInternalCodecId());
  const config = await track.getDecoderConfig();
  const description = config?.description === undefined ? null : toBytes(config.description);
  switch (codec) {
    case 'aac':
      return new AacRemuxer(readAacConfig(required(description)), size);
    case 'alac':
      return new AlacRemuxer(alacCookie(Buffer.from(file.buffer)), size);
    case 'opus':
      return new OpusRemuxer(description, size);
    case 'vorbis':
      return new VorbisRemuxer(readVorbisHeaders(...vorbisHeaders(required(description))), size);
    case 'mp3':
      return new MpegRemuxer(size);
    case 'flac':
      return new FlacRemuxer(required(description), size);
    default:
      return pcmRemuxer(codec, await track.getSampleRate(), await track.getNumberOfChannels(), size);
  }
}

function toBytes(description: NonNullable<AudioDecoderConfig['description']>): Uint8Array {
  if (ArrayBuffer.isView(description)) {
    return new Uint8Array(description.buffer as ArrayBuffer, description.byteOffset, description.byteLength);
  }
  return new Uint8Array(description as ArrayBuffer);
}

function required(description: Uint8Array | null): Uint8Array {
  if (description === null) throw new Error('a coding without its configuration');
  return description;
}

function alacCookie(file: Buffer): Buffer {
  const at = file.indexOf(ALAC_BOX);
  if (at === -1) throw new Error('ALAC without its cookie');
  return file.subarray(at + ALAC_BOX.length, at + ALAC_BOX.length + 24);
}

/** The first and the last of the three headers, which are preceded by their lengths. */
function vorbisHeaders(bytes: Uint8Array): [identification: Uint8Array, setup: Uint8Array] {
  const lengths: number[] = [];
  let at = 1;
  while (lengths.length < 2 && at < bytes.length) {
    let length = 0;
    while (bytes[at] === 255) {
      length += 255;
      at++;
    }
    lengths.push(length + (bytes[at++] ?? 0));
  }
  const [identificationBytes = 0, commentBytes = 0] = lengths;
  return [bytes.subarray(at, at + identificationBytes), bytes.subarray(at + identificationBytes + commentBytes)];
}

function pcmRemuxer(codec: string, rateHz: number, channels: number, size: number): PacketRemuxer {
  const [, kind = '', bits = '8', order] = /^(?:pcm-([usf])(8|16|24|32|64)(be)?|[ua]law)$/.exec(codec) ?? [];
  const tag = codec === 'alaw' ? 6 : codec === 'ulaw' ? 7 : kind === 'f' ? 3 : kind === '' ? 0 : 1;
  if (tag === 0 || !(rateHz > 0) || !(channels > 0)) throw new Error('an unknown coding');
  const layout = { tag, rateHz, channels, sampleBytes: Number(bits) / 8 };
  return new PcmRemuxer({ ...layout, isBigEndian: order !== undefined, isSigned8: codec === 'pcm-s8' }, size);
}

/*
 * The samples of an MP4 or QuickTime file with one table for all of them, in one pass: the library sums the sizes
 * within a chunk for each sample, and recorders may put hours into one chunk.
 */

interface Range {
  readonly from: number;
  readonly to: number;
}

const TRACK_TABLES = ['mdia', 'minf', 'stbl'];

/** The samples of the first audio track; none when there is no such table, or it has one size for all samples. */
function* mp4Samples(file: Buffer): Generator<Buffer> {
  const tables = soundTables(file);
  const sizes = tables && content(file, tables, 'stsz');
  const chunks = tables && content(file, tables, 'stsc');
  if (!tables || !sizes || !chunks || sizes.length < 12 || sizes.readUInt32BE(4) !== 0) return;
  const count = Math.min(sizes.readUInt32BE(8), Math.floor((sizes.length - 12) / 4));
  let sample = 0;
  let run = 0;
  let chunk = 0;
  const runs = Math.min(chunks.readUInt32BE(4), Math.floor((chunks.length - 8) / 12));
  for (const offset of chunkOffsets(file, tables)) {
    chunk++;
    while (run + 1 < runs && chunks.readUInt32BE(8 + 12 * (run + 1)) <= chunk) run++;
    const end = Math.min(count, sample + (runs === 0 ? 0 : chunks.readUInt32BE(12 + 12 * run)));
    for (let at = offset; sample < end; sample++) {
      const size = sizes.readUInt32BE(12 + 4 * sample);
      if (at + size > file.length) return;
      yield file.subarray(at, at + size);
      at += size;
    }
  }
}

function soundTables(file: Buffer): Range | null {
  for (const movie of boxes(file, { from: 0, to: file.length }, 'moov')) {
    for (const track of boxes(file, movie, 'trak')) {
      const [media] = boxes(file, track, 'mdia');
      const handler = media && content(file, media, 'hdlr');
      if (handler && handler.toString('latin1', 8, 12) === 'soun') return within(file, track, TRACK_TABLES);
    }
  }
  return null;
}

function within(file: Buffer, parent: Range, path: readonly string[]): Range | null {
  let range: Range | undefined = parent;
  for (const type of path) {
    if (range === undefined) return null;
    [range] = boxes(file, range, type);
  }
  return range ?? null;
}

function* chunkOffsets(file: Buffer, tables: Range): Generator<number> {
  const [short, long] = [content(file, tables, 'stco'), content(file, tables, 'co64')];
  const [table, entryBytes] = short ? [short, 4] : [long, 8];
  if (!table || table.length < 8) return;
  const count = Math.min(table.readUInt32BE(4), Math.floor((table.length - 8) / entryBytes));
  for (let index = 0; index < count; index++) {
    const at = 8 + index * entryBytes;
    yield short ? table.readUInt32BE(at) : Number(table.readBigUInt64BE(at));
  }
}

function content(file: Buffer, parent: Range, type: string): Buffer | null {
  const [range] = boxes(file, parent, type);
  return range === undefined ? null : file.subarray(range.from, range.to);
}

/** The contents of child boxes of a type. */
function* boxes(file: Buffer, { from, to }: Range, type: string): Generator<Range> {
  for (let at = from; at + 8 <= to;) {
    const size = file.readUInt32BE(at);
    const isLong = size === 1 && at + 16 <= to;
    const bytes = isLong ? Number(file.readBigUInt64BE(at + 8)) : size === 0 ? to - at : size;
    if (bytes < (isLong ? 16 : 8)) return;
    const end = Math.min(at + bytes, to);
    if (file.toString('latin1', at + 4, at + 8) === type) yield { from: at + (isLong ? 16 : 8), to: end };
    at += bytes;
  }
}

/*
 * The frames of a WebM or Matroska file (RFC 9559) in one pass. The library is used only for the track: it is seven
 * times slower for frames, and a two-hour recording has 360,000 of them.
 */

const EBML_HEADER = 0x1a45dfa3;
const [TRACK_NUMBER, TRACK_TYPE, CONTENT_ENCODINGS] = [0xd7, 0x83, 0x6d80];
const [SIMPLE_BLOCK, BLOCK] = [0xa3, 0xa1];
/** Parent elements whose children are parsed: segments, clusters, block groups and tracks. */
const PARENTS: ReadonlySet<number> = new Set([0x18538067, 0x1f43b675, 0xa0, 0x1654ae6b]);
const TRACK_ENTRY = 0xae;
const AUDIO_TRACK = 2;

interface Element {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** The frames of the first audio track; none when they are compressed or encrypted, or for other files. */
function* webmFrames(file: Buffer): Generator<Buffer> {
  if (file.length < 4 || file.readUInt32BE(0) !== EBML_HEADER) return;
  let track: number | null = null;
  for (const element of elements(file, 0, file.length)) {
    if (element.id === TRACK_ENTRY && track === null) {
      const entry = readTrack(file, element);
      if (entry?.type === AUDIO_TRACK && entry.isEncoded) return;
      if (entry?.type === AUDIO_TRACK) track = entry.number;
    }
    if (element.id !== SIMPLE_BLOCK && element.id !== BLOCK) continue;
    const block = file.subarray(element.from, element.to);
    const [number, at] = readNumber(block, 0);
    if (number === track && track !== null) yield* laced(block, at + 3, ((block[at + 2] ?? 0) >> 1) & 3);
  }
}

/** All elements up to the end of the first recording, children of {@link PARENTS} after their parent. */
function* elements(file: Buffer, from: number, to: number): Generator<Element> {
  for (let at = from; at + 2 <= to;) {
    const idBytes = Math.clz32(file.readUInt8(at)) - 23;
    if (idBytes > 4 || at + idBytes >= to) return;
    const id = file.readUIntBE(at, idBytes);
    const [size, behind] = readNumber(file, at + idBytes);
    const isParent = PARENTS.has(id);
    const end = behind + size;
    if (Number.isNaN(size) || (id === EBML_HEADER && at > 0) || (end > to && !isParent)) return;
    if (!isParent) yield { id, from: behind, to: end };
    // A parent may have an unknown size.
    at = isParent ? behind : end;
  }
}

function readTrack(file: Buffer, { from, to }: Element) {
  let [number, type, isEncoded] = [0, 0, false];
  for (const { id, from: at, to: end } of elements(file, from, to)) {
    if (id === CONTENT_ENCODINGS) isEncoded = true;
    if (end === at || end - at > 6) continue;
    if (id === TRACK_NUMBER) number = file.readUIntBE(at, end - at);
    if (id === TRACK_TYPE) type = file.readUIntBE(at, end - at);
  }
  return { number, type, isEncoded };
}

/** A variable-length number and its end. NaN when there is none. */
function readNumber(bytes: Buffer, at: number): readonly [value: number, end: number] {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (length > 8 || at + length > bytes.length) return [NaN, at];
  let value = first & (0xff >> length);
  for (let index = 1; index < length; index++) value = value * 256 + (bytes[at + index] ?? 0);
  return [value, at + length];
}

const [XIPH, FIXED, EBML] = [1, 2, 3];

/** The frames of a block; all but the last are preceded by their lengths. */
function* laced(block: Buffer, from: number, lacing: number): Generator<Buffer> {
  const sizes: number[] = [];
  let at = from;
  if (lacing !== 0) {
    const count = block[at++] ?? 0;
    for (let frame = 0; frame < count; frame++) {
      let size = 0;
      if (lacing === XIPH) {
        for (; block[at] === 255; at++) size += 255;
        size += block[at++] ?? 0;
      } else if (lacing === EBML) {
        const [value, end] = readNumber(block, at);
        // The first is a length, the others are signed differences.
        size = frame === 0 ? value : (sizes[frame - 1] ?? 0) + value - (2 ** (7 * (end - at) - 1) - 1);
        at = end;
      } else if (lacing === FIXED) size = (block.length - from - 1) / (count + 1);
      sizes.push(size);
    }
  }
  for (const size of sizes) {
    if (!Number.isInteger(size) || size < 0 || at + size > block.length) return;
    yield block.subarray(at, at + size);
    at += size;
  }
  yield block.subarray(at);
}
