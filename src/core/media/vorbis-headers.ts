/*
 * The headers of Vorbis (Vorbis I specification, 4.2). The duration of a packet follows from its mode, and the modes
 * are at the end of the setup header, so the whole header is parsed, like decoders do.
 */

/** The packet durations of a stream, and the headers without data that decoders ignore. */
export interface VorbisHeaders {
  readonly rateHz: number;
  /** Samples of a short and of a long block. */
  readonly blockSamples: readonly [short: number, long: number];
  /** By mode: whether its blocks are long. */
  readonly isLongMode: readonly boolean[];
  readonly identification: Buffer;
  readonly comment: Buffer;
  readonly setup: Buffer;
}

const EMPTY_COMMENT = Buffer.from('\x03vorbis\0\0\0\0\0\0\0\0\x01', 'latin1');
const CODEBOOK_SYNC = 0x564342;

/** @throws Error for headers that a decoder cannot read. */
export function readVorbisHeaders(identification: Uint8Array, setup: Uint8Array): VorbisHeaders {
  const head = Buffer.from(identification.subarray(0, 30));
  const channels = head[11] ?? 0;
  const isHead = head.length === 30 && head.toString('latin1', 0, 7) === '\x01vorbis' && head.readUInt32LE(7) === 0;
  if (!isHead || channels === 0) throw new Error('not Vorbis');
  const rateHz = head.readUInt32LE(12);
  const blockSamples = [1 << ((head[28] ?? 0) & 15), 1 << ((head[28] ?? 0) >> 4)] as const;
  if (rateHz === 0 || blockSamples[0] < 64 || blockSamples[1] < blockSamples[0] || blockSamples[1] > 8_192) {
    throw new Error('not Vorbis');
  }
  // Bit rates are hints.
  head.fill(0, 16, 28);
  head[29] = 1;
  const reader = new SetupReader(setup, channels);
  const isLongMode = reader.readModes();
  const end = reader.endByte;
  return {
    rateHz,
    blockSamples,
    isLongMode,
    identification: head,
    comment: EMPTY_COMMENT,
    setup: Buffer.from(setup.subarray(0, end)),
  };
}

/** The samples of a packet's block; `null` for non-audio packets. */
export function vorbisBlockSamples(packet: Uint8Array, { isLongMode, blockSamples }: VorbisHeaders): number | null {
  const [first] = packet;
  if (first === undefined || (first & 1) !== 0) return null;
  const mode = (first >> 1) & ((1 << bitsOf(isLongMode.length - 1)) - 1);
  const isLong = isLongMode[mode];
  return isLong === undefined ? null : blockSamples[isLong ? 1 : 0];
}

/** Bit length of a number. */
function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}

/** Reads a setup header bit by bit. Every loop consumes bits, so the header length bounds all loops. */
class SetupReader {
  private position = 0;
  private readonly bytes: Uint8Array;
  private readonly channels: number;

  constructor(bytes: Uint8Array, channels: number) {
    this.bytes = bytes;
    this.channels = channels;
  }

  get endByte(): number {
    return (this.position + 7) >>> 3;
  }

  readModes(): boolean[] {
    if (Buffer.from(this.bytes.subarray(0, 7)).toString('latin1') !== '\x05vorbis') throw new Error('not Vorbis');
    this.position = 56;
    this.repeat(this.read(8) + 1, () => this.readCodebook());
    this.repeat(this.read(6) + 1, () => this.expect(this.read(16) === 0));
    this.repeat(this.read(6) + 1, () => this.readFloor());
    this.repeat(this.read(6) + 1, () => this.readResidue());
    this.repeat(this.read(6) + 1, () => this.readMapping());
    const modes: boolean[] = [];
    this.repeat(this.read(6) + 1, () => {
      modes.push(this.read(1) === 1);
      this.expect(this.read(16) === 0 && this.read(16) === 0);
      this.read(8);
    });
    this.expect(this.read(1) === 1);
    return modes;
  }

  private readCodebook(): void {
    this.expect(this.read(24) === CODEBOOK_SYNC);
    const dimensions = this.read(16);
    const entries = this.read(24);
    if (this.read(1) === 1) {
      this.read(5);
      for (let entry = 0; entry < entries;) entry += this.read(bitsOf(entries - entry));
    } else {
      const isSparse = this.read(1) === 1;
      for (let entry = 0; entry < entries; entry++) if (!isSparse || this.read(1) === 1) this.read(5);
    }
    const lookup = this.read(4);
    this.expect(lookup <= 2);
    if (lookup === 0) return;
    this.skip(64);
    const valueBits = this.read(4) + 1;
    this.read(1);
    this.skip(valueBits * (lookup === 1 ? rootOf(entries, dimensions) : entries * dimensions));
  }

  private readFloor(): void {
    const type = this.read(16);
    this.expect(type <= 1);
    if (type === 0) {
      this.skip(8 + 16 + 16 + 6 + 8);
      this.skip(8 * (this.read(4) + 1));
      return;
    }
    const classes: number[] = [];
    this.repeat(this.read(5), () => classes.push(this.read(4)));
    const dimensions: number[] = [];
    this.repeat(Math.max(-1, ...classes) + 1, () => {
      dimensions.push(this.read(3) + 1);
      const subclassBits = this.read(2);
      if (subclassBits > 0) this.read(8);
      this.skip(8 << subclassBits);
    });
    this.read(2);
    const rangeBits = this.read(4);
    for (const each of classes) this.skip(rangeBits * (dimensions[each] ?? 0));
  }

  private readResidue(): void {
    this.expect(this.read(16) <= 2);
    this.skip(72);
    const cascades: number[] = [];
    const classifications = this.read(6) + 1;
    this.read(8);
    this.repeat(classifications, () => {
      const low = this.read(3);
      cascades.push(low | (this.read(1) === 1 ? this.read(5) << 3 : 0));
    });
    for (let bits of cascades) for (; bits > 0; bits >>= 1) if ((bits & 1) === 1) this.read(8);
  }

  private readMapping(): void {
    this.expect(this.read(16) === 0);
    const submaps = this.read(1) === 1 ? this.read(4) + 1 : 1;
    if (this.read(1) === 1) this.skip((this.read(8) + 1) * 2 * bitsOf(this.channels - 1));
    this.expect(this.read(2) === 0);
    if (submaps > 1) this.skip(4 * this.channels);
    this.skip(24 * submaps);
  }

  private repeat(times: number, step: () => void): void {
    for (let index = 0; index < times; index++) step();
  }

  private expect(isTrue: boolean): void {
    if (!isTrue) throw new Error('not a setup header of Vorbis');
  }

  private skip(bits: number): void {
    this.position += bits;
    this.expect(this.position <= this.bytes.length * 8);
  }

  /** At most 24 bits, the lowest first. */
  private read(count: number): number {
    const { bytes, position } = this;
    const at = position >>> 3;
    const word =
      (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    this.skip(count);
    return (word >>> (position & 7)) & ((1 << count) - 1);
  }
}

/** The largest integer whose power of `dimensions` does not exceed the number of entries. */
function rootOf(entries: number, dimensions: number): number {
  if (dimensions === 0) throw new Error('a codebook without dimensions');
  let root = Math.floor(entries ** (1 / dimensions));
  while ((root + 1) ** dimensions <= entries) root++;
  while (root ** dimensions > entries) root--;
  return root;
}
