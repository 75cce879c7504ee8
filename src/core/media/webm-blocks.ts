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
export function* webmFrames(file: Buffer): Generator<Buffer> {
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
