/** Distinguishes files of bare frames from containers that other readers could detect in them. */

/** Magic bytes of audio containers, supported here or not: AIFF, CAF, AU, AMR, W64, ASF, AC-3 and others. */
const CONTAINERS = (
  'FORM caff .snd #!AMR RIFF RIFX RF64 riff OggS fLaC FLV wvpk TTA MPCK MP+ FRM8 DSD ' +
  '0&\xb2u \x1aE\xdf\xa3 \0\0\x01\xba \0\0\x01\xb3 \x0bw \x7f\xfe\x80\x01'
).split(' ');
/** The same for box-based containers, whose size comes first. */
const BOXES: ReadonlySet<string> = new Set(['ftyp', 'styp', 'moov', 'mdat', 'wide', 'free', 'skip']);
/** The sync byte of a transport stream, at the start of each packet. */
const [TRANSPORT_SYNC, TRANSPORT_BYTES] = [0x47, 188];
const [PROGRAM_PACK, FIRST_AUDIO, LAST_AUDIO] = [0xba, 0xc0, 0xdf];

/** Whether a file is an MPEG program stream. */
export function isProgramStream(file: Buffer): boolean {
  return file.length > 4 && file.readUInt32BE(0) === (0x100 | PROGRAM_PACK);
}

/** The bytes of the first stream of MPEG audio in an MPEG program stream (ISO 13818-1, 2.5). */
export function* programStreamAudio(file: Buffer): Generator<Buffer> {
  let stream: number | null = null;
  const startCode = Buffer.from([0, 0, 1]);
  for (let at = 0; at !== -1 && at + 9 <= file.length; at = file.indexOf(startCode, at)) {
    const id = file.readUInt8(at + 3);
    if (id < 0xbb) {
      at += 4;
      continue;
    }
    const end = at + 6 + file.readUInt16BE(at + 4);
    if (id >= FIRST_AUDIO && id <= LAST_AUDIO && (stream ?? id) === id) {
      stream = id;
      yield file.subarray(payloadOf(file, at + 6), Math.min(end, file.length));
    }
    at = end;
  }
}

function payloadOf(file: Buffer, headerAt: number): number {
  const first = file.readUInt8(headerAt);
  // MPEG-2 declares its header length; an MPEG-1 header has stuffing, buffer size and one or two timestamps.
  if (first >> 6 === 2) return headerAt + 3 + file.readUInt8(headerAt + 2);
  let at = headerAt;
  while (file[at] === 0xff) at++;
  if ((file[at] ?? 0) >> 6 === 1) at += 2;
  const times = (file[at] ?? 0) >> 4;
  return at + (times === 2 ? 5 : times === 3 ? 10 : 1);
}

/** Whether a file is an MP4, QuickTime, WebM or Matroska file, by its first bytes. */
export function isMediaContainer(file: Buffer): boolean {
  return BOXES.has(file.toString('latin1', 4, 8)) || file.toString('latin1', 0, 4) === '\x1aE\xdf\xa3';
}

/** Packet sizes of transport streams. */
const TRANSPORT_STEPS = [188, 192, 204];
const TRANSPORT_PROBE_BYTES = 65_536;

/**
 * Whether bare frames contain bytes that make other readers detect a transport or program stream.
 */
export function looksLikeStream(frames: Buffer): boolean {
  const probe = frames.subarray(0, TRANSPORT_PROBE_BYTES);
  const isTransport = TRANSPORT_STEPS.some((step) => {
    const counts = new Uint32Array(step);
    for (let at = probe.indexOf(TRANSPORT_SYNC); at !== -1; at = probe.indexOf(TRANSPORT_SYNC, at + 1)) {
      counts[at % step] = (counts[at % step] ?? 0) + 1;
    }
    return Math.max(...counts) > Math.max(4, probe.length / step / 3);
  });
  return isTransport || probe.includes(Buffer.from([0, 0, 1, PROGRAM_PACK]));
}

/**
 * Frames near the beginning of a file may be part of a title of an unsupported container whose audio other readers
 * play.
 * @param behindTags start of the file after its tags.
 * @throws Error when the file begins like such a container.
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
