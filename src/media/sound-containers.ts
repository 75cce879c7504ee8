/** What containers of sound hide: over the files that are refused here, readers disagree. */

const [EBML_HEADER, EBML_SEGMENT, EBML_CLUSTER] = [0x1a45dfa3, 0x18538067, 0x1f43b675];
/** What is in a segment, and in a cluster of it. */
const EBML_PARTS: ReadonlySet<number> = new Set(
  [
    [EBML_CLUSTER, 0x114d9b74, 0x1549a966, 0x1654ae6b, 0x1043a770, 0x1c53bb6b, 0x1941a469, 0x1254c367],
    [0xe7, 0x5854, 0xa7, 0xab, 0xa3, 0xa0, 0xaf, 0xec, 0xbf],
  ].flat(),
);
/** How the configuration of ALAC begins, and the samples that every encoder puts into a frame. */
const ALAC_CONFIG = Buffer.from('\0\0\0\x24alac\0\0\0\0', 'latin1');
const ALAC_SAMPLES = 4_096;
/** How containers of sound begin, whether or not they are read here: AIFF, CAF, AU, AMR, W64, ASF, AC-3 and others. */
const CONTAINERS = (
  'FORM caff .snd #!AMR RIFF RIFX RF64 riff OggS fLaC FLV wvpk TTA MPCK MP+ FRM8 DSD ' +
  '0&\xb2u \x1aE\xdf\xa3 \0\0\x01\xba \0\0\x01\xb3 \x0bw \x7f\xfe\x80\x01'
).split(' ');
/** The same of those that consist of boxes, whose size comes first. */
const BOXES: ReadonlySet<string> = new Set(['ftyp', 'styp', 'moov', 'mdat', 'wide', 'free', 'skip']);
/** That of a transport stream, at the beginning of each packet. */
const [TRANSPORT_SYNC, TRANSPORT_BYTES] = [0x47, 188];
/** How a page of Ogg begins. */
const OGG_PAGE = Buffer.from('OggS\0');

/**
 * Bytes of sound in a RIFF file of which its header is silent: what follows its data, unless that is well-formed chunks,
 * which are titles and pictures, and what lies beyond the end that it announces for the file. Some decoders play both.
 * @throws Error for the rarer kinds of the format, whose sizes are elsewhere, and for more than one format or piece of
 * sound: some decoders go by the first, some by the last.
 */
export function silencedBytes(file: Buffer): number {
  if (file.toString('latin1', 0, 4) !== 'RIFF') throw new Error('not RIFF');
  const announcedEnd = 8 + file.readUInt32LE(4);
  let at = 12;
  let hasFormat = false;
  let dataEnd: number | null = null;
  while (at + 8 <= file.length) {
    const id = file.toString('latin1', at, at + 4);
    const end = at + 8 + file.readUInt32LE(at + 4);
    if (dataEnd !== null && (!/^[\x20-\x7e]{4}$/.test(id) || end > file.length)) break;
    if (id === 'data' ? dataEnd !== null : id === 'fmt ' && hasFormat) throw new Error('more than one recording');
    if (id === 'data') dataEnd = Math.min(end, file.length);
    hasFormat ||= id === 'fmt ';
    at = end + (end % 2);
  }
  if (dataEnd === null) return 0;
  return Math.max(0, file.length - at) + Math.max(0, dataEnd - announcedEnd);
}

/**
 * Readers differ in what they make of recordings that follow each other in one file: this one would stop at the first.
 * @throws Error when a stream begins behind the beginning, or goes on behind its end.
 */
export function assertOneChain(file: Buffer): void {
  const open = new Set<number>();
  let begun = false;
  for (let at = file.indexOf(OGG_PAGE); at !== -1 && at + 18 <= file.length; at = file.indexOf(OGG_PAGE, at + 5)) {
    const [flags, serial] = [file.readUInt8(at + 5), file.readUInt32LE(at + 14)];
    const isFirst = (flags & 2) !== 0;
    if (isFirst ? begun : !open.has(serial)) throw new Error('more than one recording');
    if (isFirst) open.add(serial);
    else begun = true;
    if ((flags & 4) !== 0) open.delete(serial);
  }
}

/**
 * The same of WebM, whose elements have to follow each other to the end of the file: over anything else readers disagree.
 * @throws Error for anything besides one segment.
 */
export function assertOneSegment(file: Buffer): void {
  let [at, segmentAt] = [0, 0];
  while (at < file.length) {
    const idBytes = Math.clz32(file.readUInt8(at)) - 23;
    const sizeBytes = Math.clz32(file[at + idBytes] ?? 0) - 23;
    const behind = at + idBytes + sizeBytes;
    if (idBytes > 4 || sizeBytes > 8 || behind > file.length) throw new Error('not an element');
    const id = file.readUIntBE(at, idBytes);
    const isExpected = at === 0 ? id === EBML_HEADER : at === segmentAt ? id === EBML_SEGMENT : EBML_PARTS.has(id);
    if (!isExpected) throw new Error('not one recording');
    // What is in them is looked at, not skipped: some do not know where they end.
    at = id === EBML_SEGMENT || id === EBML_CLUSTER ? behind : behind + elementSize(file, at + idBytes, sizeBytes);
    if (id === EBML_HEADER) segmentAt = at;
  }
  if (at > file.length) throw new Error('cut off');
}

function elementSize(file: Buffer, at: number, bytes: number): number {
  const first = file.readUInt8(at) & (0xff >> bytes);
  return file.subarray(at + 1, at + bytes).reduce((size, byte) => size * 256 + byte, first);
}

/**
 * Lists of edits of MP4 that play more than one piece may play the same one again and again.
 * @throws Error for such a list.
 */
function assertOneEdit(file: Buffer): void {
  for (let at = file.indexOf('elst'); at !== -1 && at + 12 <= file.length; at = file.indexOf('elst', at + 4)) {
    const isLong = file.readUInt8(at + 4) === 1;
    const entryBytes = isLong ? 20 : 12;
    const entries = file.readUInt32BE(at + 8);
    const size = at < 4 ? 0 : file.readUInt32BE(at - 4);
    // Otherwise it is a word among other bytes.
    const isList = 16 + entries * entryBytes <= size && at - 4 + size <= file.length;
    const end = at + 12 + (isList ? entries * entryBytes : 0);
    let played = 0;
    for (let entry = at + 12; entry < end; entry += entryBytes) {
      const mediaTime = isLong ? file.readBigInt64BE(entry + 8) : BigInt(file.readInt32BE(entry + 4));
      // A pause has the time -1.
      if (mediaTime !== -1n && ++played > 1) throw new Error('more than one edit');
    }
  }
}

/**
 * A film whose samples are told of in more than one way: some readers take the table at its head, some what follows in
 * fragments, some all of it.
 * @throws Error for such a one, for lists of edits as {@link assertOneEdit}, and for frames of ALAC longer than encoders make.
 */
export function assertOneFilm(file: Buffer): void {
  assertOneEdit(file);
  let fragments = 0;
  for (let at = 0; at + 8 <= file.length;) {
    if (file.toString('latin1', at + 4, at + 8) === 'moof') fragments++;
    const size = file.readUInt32BE(at);
    const bytes = size === 1 && at + 16 <= file.length ? Number(file.readBigUInt64BE(at + 8)) : size;
    // To the end of the file, or no box.
    if (bytes < 8) break;
    at += bytes;
  }
  if (fragments > 0 && hasTable(file)) throw new Error('more than one table');
  const alac = file.indexOf(ALAC_CONFIG);
  if (alac !== -1 && alac + 16 <= file.length && file.readUInt32BE(alac + 12) > ALAC_SAMPLES) throw new Error('long');
}

/** Whether one of the tracks has a table with samples in it. */
function hasTable(file: Buffer): boolean {
  for (const name of ['stsz', 'stz2']) {
    for (let at = file.indexOf(name); at !== -1 && at + 16 <= file.length; at = file.indexOf(name, at + 4)) {
      if (file.readUInt32BE(at + 12) > 0) return true;
    }
  }
  return false;
}

/**
 * Frames that are found near the beginning of a file may be in a title of a container that is not read here, and whose
 * sound other readers play.
 * @param behindTags where the file begins for those who pass over its tags.
 * @throws Error where a file begins as such a one does.
 */
export function assertBareFrames(file: Buffer, behindTags: number): void {
  for (const at of [0, behindTags]) {
    const head = file.toString('latin1', at, at + 8);
    const isTransport = file[at] === TRANSPORT_SYNC && file[at + TRANSPORT_BYTES] === TRANSPORT_SYNC;
    if (isTransport || BOXES.has(head.slice(4)) || CONTAINERS.some((magic) => head.startsWith(magic))) {
      throw new Error('another container');
    }
  }
}
