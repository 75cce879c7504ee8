/** Extracts coded audio from containers. */

/** The coding of a WAV file and the position of its audio. */
export interface WavSound {
  /** 1: whole numbers, 3: floating point, 6: A-law, 7: mu-law. */
  readonly tag: number;
  readonly channels: number;
  readonly rateHz: number;
  readonly sampleBytes: number;
  readonly from: number;
  readonly to: number;
  /** Short titles as a whole chunk; empty when there are none. */
  readonly titles: Buffer;
}

const MAX_TITLE_BYTES = 4_096;

const EXTENSIBLE = 0xfffe;
/** By tag: bytes of one sample of one channel. */
const WAV_SAMPLE_BYTES: Readonly<Partial<Record<number, readonly number[]>>> = {
  1: [1, 2, 3, 4],
  3: [4, 8],
  6: [1],
  7: [1],
};
const MAX_CHANNELS = 32;
/** Start of an Ogg page. */
const OGG_PAGE = Buffer.from('OggS\0');
const OGG_HEADER_BYTES = 27;
/** Start of the first packet of audio streams. */
const OGG_CODINGS = { opus: 'OpusHead', vorbis: '\x01vorbis', flac: '\x7fFLAC' } as const;
export type OggCoding = keyof typeof OGG_CODINGS;

/**
 * The audio of a RIFF file. Interrupted recorders often write headers with a too small or unknown size: bytes after the
 * declared audio belong to it, unless they are well-formed chunks.
 * @throws Error for rare format variants, and for more than one format or audio chunk.
 */
export function readWav(file: Buffer): WavSound {
  if (file.toString('latin1', 0, 4) !== 'RIFF') throw new Error('not RIFF');
  let format: WavFormat | null = null;
  let titles = Buffer.alloc(0);
  let data: { readonly from: number; readonly to: number } | null = null;
  for (let at = 12; at + 8 <= file.length;) {
    const id = file.toString('latin1', at, at + 4);
    const end = at + 8 + file.readUInt32LE(at + 4);
    if (data !== null && (!/^[\x20-\x7e]{4}$/.test(id) || end > file.length)) {
      data = { ...data, to: file.length };
      break;
    }
    if (id === 'data' ? data !== null : id === 'fmt ' && format !== null) throw new Error('more than one recording');
    if (id === 'LIST' && end <= file.length && end - at <= MAX_TITLE_BYTES && end % 2 === 0)
      titles = Buffer.from(file.subarray(at, end));
    if (id === 'fmt ') format = readWavFormat(file.subarray(at + 8, end));
    if (id === 'data') data = { from: at + 8, to: Math.min(end, file.length) };
    at = end + (end % 2);
  }
  if (format === null || data === null) throw new Error('a WAV file without audio');
  const blockBytes = format.channels * format.sampleBytes;
  return { ...format, ...data, titles, to: data.to - ((data.to - data.from) % blockBytes) };
}

type WavFormat = Omit<WavSound, 'from' | 'to' | 'titles'>;

/** The content of a `fmt ` chunk. @throws Error for a rare variant */
export function readWavFormat(chunk: Buffer): WavFormat {
  if (chunk.length < 16) throw new Error('a format that is cut off');
  const announced = chunk.readUInt16LE(0);
  const tag = announced === EXTENSIBLE && chunk.length >= 26 ? chunk.readUInt16LE(24) : announced;
  const [channels, rateHz, bits] = [chunk.readUInt16LE(2), chunk.readUInt32LE(4), chunk.readUInt16LE(14)];
  const sampleBytes = Math.ceil(bits / 8);
  const isKnown = WAV_SAMPLE_BYTES[tag]?.includes(sampleBytes) === true;
  if (!isKnown || channels === 0 || channels > MAX_CHANNELS || rateHz === 0) throw new Error('an unknown format');
  return { tag, channels, rateHz, sampleBytes };
}

/** The audio stream of an Ogg file: the first one of a known coding. */
export interface OggStream {
  readonly coding: OggCoding;
  /** The packets of the stream, its headers first. @throws Error when a second audio stream follows the first. */
  readonly packets: () => Generator<Buffer>;
}

/** @throws Error for a file without audio of a known coding. */
export function readOgg(file: Buffer): OggStream {
  for (const page of oggPages(file)) {
    if (!page.isFirst) break;
    const coding = oggCodingOf(page);
    if (coding !== null) return { coding, packets: () => oggPackets(file, page.serial) };
  }
  throw new Error('no audio of a known coding');
}

function oggCodingOf({ body }: OggPage): OggCoding | null {
  for (const [coding, magic] of Object.entries(OGG_CODINGS)) {
    if (body.toString('latin1', 0, magic.length) === magic) return coding as OggCoding;
  }
  return null;
}

interface OggPage {
  readonly isFirst: boolean;
  readonly isContinued: boolean;
  readonly serial: number;
  readonly segments: Buffer;
  readonly body: Buffer;
}

function* oggPages(file: Buffer): Generator<OggPage> {
  for (let at = file.indexOf(OGG_PAGE); at !== -1; at = file.indexOf(OGG_PAGE, at)) {
    const segmentsAt = at + OGG_HEADER_BYTES;
    const bodyAt = segmentsAt + (file[at + OGG_HEADER_BYTES - 1] ?? 0);
    const segments = file.subarray(segmentsAt, bodyAt);
    const end = segments.reduce((sum, bytes) => sum + bytes, bodyAt);
    if (end > file.length || bodyAt > file.length) return;
    const flags = file.readUInt8(at + 5);
    yield {
      isFirst: (flags & 2) !== 0,
      isContinued: (flags & 1) !== 0,
      serial: file.readUInt32LE(at + 14),
      segments,
      body: file.subarray(bodyAt, end),
    };
    at = end;
  }
}

function* oggPackets(file: Buffer, serial: number): Generator<Buffer> {
  let begun: Buffer[] = [];
  let pages = 0;
  for (const page of oggPages(file)) {
    if (page.isFirst && pages > 1 && oggCodingOf(page) !== null) throw new Error('more than one recording');
    if (page.serial !== serial) continue;
    pages++;
    if (!page.isContinued) begun = [];
    let from = 0;
    let to = 0;
    // The rest of a packet without its start.
    let isOrphan = page.isContinued && begun.length === 0;
    for (const bytes of page.segments) {
      to += bytes;
      if (bytes === 255) continue;
      const rest = page.body.subarray(from, to);
      if (!isOrphan) yield begun.length === 0 ? rest : Buffer.concat([...begun, rest]);
      [begun, isOrphan, from] = [[], false, to];
    }
    if (from < to && !isOrphan) begun.push(page.body.subarray(from, to));
  }
}
