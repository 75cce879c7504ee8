/** The chunks of a PNG file (https://www.w3.org/TR/png-3/), read without decompressing anything. */

interface PngHeader {
  readonly width: number;
  readonly height: number;
  readonly isInterlaced: boolean;
  /** Bytes of the decompressed rows, each with the byte that names its filter. */
  readonly rowsBytes: number;
}

interface PngChunk {
  /** Such as `IDAT`. */
  readonly type: string;
  readonly data: Buffer;
  /** The whole chunk, with length, type and checksum. */
  readonly frame: Buffer;
}

export const PNG_SIGNATURE_BYTES = 8;
/** Length and type. */
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;
/** Samples of a pixel by color type; an index into a palette counts as one. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** The whole chunks of a file, one at a time: there may be millions. */
export function* pngChunksOf(bytes: Buffer): Generator<PngChunk> {
  for (let at = PNG_SIGNATURE_BYTES; at + HEAD_BYTES <= bytes.length;) {
    const dataAt = at + HEAD_BYTES;
    const end = dataAt + bytes.readUInt32BE(at) + CHECKSUM_BYTES;
    if (end > bytes.length) break;
    const type = bytes.toString('latin1', at + 4, dataAt);
    yield { type, data: bytes.subarray(dataAt, end - CHECKSUM_BYTES), frame: bytes.subarray(at, end) };
    at = end;
  }
}

/**
 * The header of a file that begins with one; its other chunks are not read.
 * `null`: the header has an unknown color type.
 */
export function pngHeaderOf(bytes: Buffer): PngHeader | null {
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const [depth = 0, colorType = 0, , , interlacing] = bytes.subarray(24);
  const channels = CHANNELS[colorType];
  if (channels === undefined) return null;
  const rowsBytes = height * (1 + Math.ceil((width * channels * depth) / 8));
  return { width, height, isInterlaced: interlacing !== 0, rowsBytes };
}
