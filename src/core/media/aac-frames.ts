/*
 * Finds the end of AAC-LC frames (ISO 14496-3, 4.4). A packet may hold several frames, and decoders play all of them,
 * so only the coded bits determine its duration. Nothing is decoded; only code lengths matter.
 */

/**
 * Tables of ISO 14496-3, 4.A and 4.5.4. Widths of scale factor bands in a long and in a short window, as `width x
 * count`, by rate.
 */
const BANDS_OF_RATES: readonly (readonly [rates: number, long: string, short: string])[] = [
  [2, '4x14 8x5 12x5 16x2 24 28 36 44 64x11', '4x6 8x3 16 28 36'],
  [1, '4x14 8x4 12x3 16x3 20 24x2 28 36 40x18', '4x6 8x3 16 28 36'],
  [2, '4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x19 96', '4x5 8x3 12x3 16x3'],
  [1, '4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x22', '4x5 8x3 12x3 16x3'],
  [2, '4x11 8x10 12x4 16x3 20x2 24x2 28x2 32 36x2 40 44 48 52x2 64x5', '4x7 8x3 12x2 16x2 20'],
  [3, '8x11 12x9 16x4 20x3 24x2 28x2 32 36 40x2 44 48 52 56 60 64x3', '4x8 8x2 12x2 16 20x2'],
  [2, '12x13 16x7 20x4 24x3 28x2 32 36x2 40 44 48 52 56 60 64 80', '4x7 8x4 12 16 20x2'],
];

/**
 * The spectral codebooks 1 to 11. Their codes are canonical: `length:` is followed by the number of codewords of that
 * length or, where sign bits follow a codeword, by one digit for each in the order of the codes: how many sign bits. In
 * book 11 the digits 3, 4 and 5 mean one escape and one sign, one escape and two signs, two escapes and two signs.
 */
const SIGNED_BOOKS = new Set([1, 2, 5, 6]);
const ESCAPE_BOOK = 11;
const BOOKS = [
  '',
  '1:1 5:8 7:24 9:24 10:8 11:16',
  '3:1 4:1 5:7 6:24 7:15 8:19 9:14',
  '1:0 4:1111 5:22 6:222323 7:433 8:11223 9:232331221224334 10:323244332333223 11:24334423 12:333334444 13:223 14:343 15:44432 16:33',
  '4:4333312022 5:221211 7:444433333 8:333333322222222222211 9:11444444 10:33333333343334 11:44222222433 12:33',
  '1:1 4:4 5:4 7:4 8:12 9:12 10:12 11:18 12:10 13:4',
  '4:9 6:16 7:13 8:8 9:23 10:8 11:4',
  '1:0 3:11 4:2 6:2211 7:22211 8:2222222211 9:22212122222222 10:211222222222222 11:11222222 12:2222',
  '3:2 4:21212 5:0112222 6:2222211222 7:22222221212222 8:222121222222222 9:22121222 10:2112',
  '1:0 3:11 4:2 6:2211 7:222 8:11222222 9:22112222222 10:12122222222122222222 11:1222122221222211222222222222212 12:22122222222222222222222122122222221222 13:22222222222212212222122222222222 14:22222222222222 15:2222',
  '4:222 5:21122222 6:11222202211222 7:22222222212122222 8:2222222121222222222222222 9:2221222221222222222222222221212 10:22222212222221222222222222222221212122222 11:2222222222121222122212 12:22222122',
  '4:02 5:511222 6:2221212 7:2222221122222222 8:22222224444424121424444222224422444224244424224422214422221 9:2442242422222224221222222122222222222222122222222222322 10:22223212222222222222222222222222222221222222222222222222122222222222222222222222222211222222222 11:2222222222222222212212122212222211222212212 12:112112',
];
/** Scale factors: code lengths only. */
const SCALE_FACTORS = '1:1 3:1 4:3 5:2 6:4 7:3 8:5 9:4 10:6 11:6 12:6 13:5 14:8 15:4 16:7 17:3 18:7 19:46';
const ESCAPES = [0, 0, 0, 1, 1, 2];
const SIGNS = [0, 1, 2, 1, 2, 2];

/** Lookup tables to skip codewords of a Huffman code. */
interface Codebook {
  readonly maxBits: number;
  /** Indexed by the next `maxBits` bits: the number of bits to skip in the lower 6 bits, then the number of escapes. */
  readonly table: Uint8Array;
  readonly dimensions: number;
}

/** By codebook number. */
const CODEBOOKS: readonly Codebook[] = BOOKS.map((text, book) => {
  const isSigned = SIGNED_BOOKS.has(book);
  return toCodebook(
    text,
    book < 5 ? 4 : 2,
    (digit) => {
      if (isSigned) return 0;
      return book === ESCAPE_BOOK ? (SIGNS[digit] ?? 0) + ((ESCAPES[digit] ?? 0) << 6) : digit;
    },
    isSigned,
  );
});
const SCALE_FACTOR_BOOK = toCodebook(SCALE_FACTORS, 1, () => 0, true);
/** Starts of the scale factor bands by sampling rate index; the last number is the end. */
const BANDS = BANDS_OF_RATES.flatMap(([rates, long, short]) => {
  const bands = { long: toOffsets(long), short: toOffsets(short) };
  return Array.from({ length: rates }, () => bands);
});

function toCodebook(
  text: string,
  dimensions: number,
  extraOf: (digit: number) => number,
  isCounted: boolean,
): Codebook {
  const groups = text === '' ? [] : text.split(' ').map((group) => group.split(':') as [string, string]);
  const maxBits = Number(groups.at(-1)?.[0] ?? 0);
  const table = new Uint8Array(1 << maxBits);
  let at = 0;
  for (const [length, codes] of groups) {
    const digits = isCounted ? Array.from({ length: Number(codes) }, () => 0) : Array.from(codes, Number);
    const span = 1 << (maxBits - Number(length));
    for (const digit of digits) {
      table.fill(Number(length) + extraOf(digit), at, at + span);
      at += span;
    }
  }
  return { maxBits, table, dimensions };
}

function toOffsets(text: string): Uint16Array {
  const widths = text.split(' ').flatMap((each) => {
    const [width = 0, count = 1] = each.split('x').map(Number);
    return Array.from({ length: count }, () => width);
  });
  let end = 0;
  return Uint16Array.from([0, ...widths.map((width) => (end += width))]);
}

/** The decoder configuration of an AAC-LC stream. */
export interface AacConfig {
  /** Index of the core's sampling rate in {@link AAC_RATES_HZ}. */
  readonly rateIndex: number;
  /** Channel configuration, 1 to 7. */
  readonly channels: number;
}

export const AAC_RATES_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
export const AAC_FRAME_SAMPLES = 1_024;

/** Object types: AAC-LC, and those that signal spectral band replication or parametric stereo. */
const [AAC_LC, SBR, PARAMETRIC_STEREO] = [2, 5, 29];
const EXPLICIT_RATE = 15;
/** Bytes of coded spectrum that a frame may have per channel at most, and fill and data elements around it. */
const MAX_FRAME_BYTES = 8_192;

/** The two bytes of an AudioSpecificConfig for AAC-LC at the core's rate, without any extension. */
export function toAacConfigBytes({ rateIndex, channels }: AacConfig): Buffer {
  return Buffer.from([(AAC_LC << 3) | (rateIndex >> 1), ((rateIndex & 1) << 7) | (channels << 3)]);
}

/**
 * Reads an AudioSpecificConfig. Rates of extensions are ignored: each frame declares its extensions.
 * @throws Error for anything but AAC-LC in frames of 1,024 samples with a standard rate and layout.
 */
export function readAacConfig(bytes: Uint8Array): AacConfig {
  const reader = new BitReader(bytes, 0, bytes.length);
  let type = reader.read(5);
  const rateIndex = reader.read(4);
  const channels = reader.read(4);
  if (type === SBR || type === PARAMETRIC_STEREO) {
    if (reader.read(4) === EXPLICIT_RATE) reader.read(24);
    type = reader.read(5);
  }
  const isShortOrScalable = reader.read(3) !== 0;
  const hasLayout = channels > 0 && channels < 8;
  if (
    type !== AAC_LC ||
    AAC_RATES_HZ[rateIndex] === undefined ||
    !hasLayout ||
    isShortOrScalable ||
    reader.isBeyondEnd
  ) {
    throw new Error('not AAC-LC of a standard layout');
  }
  return { rateIndex, channels };
}

/**
 * The byte behind the frame (`raw_data_block`) that begins at `from`; `null` where there is no complete frame of
 * AAC-LC.
 */
export function endOfAacFrame(bytes: Uint8Array, from: number, to: number, rateIndex: number): number | null {
  const reader = new FrameReader(bytes, from, Math.min(to, from + MAX_FRAME_BYTES), rateIndex);
  return reader.readFrame() ? reader.endByte : null;
}

class BitReader {
  protected position: number;
  private readonly endPosition: number;
  protected readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.bytes = bytes;
    this.position = from * 8;
    this.endPosition = to * 8;
  }

  get isBeyondEnd(): boolean {
    return this.position > this.endPosition;
  }

  get endByte(): number {
    return (this.position + 7) >>> 3;
  }

  /** Peeks at most 24 bits. */
  peek(count: number): number {
    const { bytes, position } = this;
    const at = position >>> 3;
    const word =
      ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
    return (word << (position & 7)) >>> (32 - count);
  }

  read(count: number): number {
    const value = this.peek(count);
    this.position += count;
    return value;
  }
}

const BOOKS_OF_BANDS = new Uint8Array(8 * 64);

interface Window {
  readonly isShort: boolean;
  readonly maxBand: number;
  readonly groupLengths: readonly number[];
}

class FrameReader extends BitReader {
  private readonly rateIndex: number;
  private readonly startPosition: number;
  /** Codebooks of bands, by group and band. Reused for all frames, which are read in sequence. */
  private readonly books = BOOKS_OF_BANDS;

  constructor(bytes: Uint8Array, from: number, to: number, rateIndex: number) {
    super(bytes, from, to);
    this.rateIndex = rateIndex;
    this.startPosition = this.position;
  }

  readFrame(): boolean {
    let hasSound = false;
    for (;;) {
      if (this.isBeyondEnd) return false;
      const element = this.read(3);
      switch (element) {
        case 0: // single channel
        case 3: // low frequencies
          this.position += 4;
          if (!this.readChannel(null)) return false;
          hasSound = true;
          break;
        case 1:
          if (!this.readPair()) return false;
          hasSound = true;
          break;
        case 4:
          this.skipData();
          break;
        case 6:
          this.skipFill();
          break;
        case 7:
          return hasSound && !this.isBeyondEnd;
        default: // coupling, and layouts within frames: ordinary encoders do not write them
          return false;
      }
    }
  }

  private skipData(): void {
    this.position += 4;
    const isAligned = this.read(1) === 1;
    let count = this.read(8);
    if (count === 255) count += this.read(8);
    if (isAligned) this.position += (8 - ((this.position - this.startPosition) & 7)) & 7;
    this.position += count * 8;
  }

  private skipFill(): void {
    let count = this.read(4);
    if (count === 15) count += this.read(8) - 1;
    this.position += count * 8;
  }

  private readPair(): boolean {
    this.position += 4;
    let window: Window | null = null;
    if (this.read(1) === 1) {
      window = this.readWindow();
      if (window === null) return false;
      const midSide = this.read(2);
      if (midSide === 3) return false;
      if (midSide === 1) this.position += window.groupLengths.length * window.maxBand;
    }
    return this.readChannel(window) && this.readChannel(window);
  }

  private readWindow(): Window | null {
    const isReserved = this.read(1) === 1;
    const isShort = this.read(2) === 2;
    this.position += 1;
    const maxBand = this.read(isShort ? 4 : 6);
    const bands = BANDS[this.rateIndex];
    if (isReserved || bands === undefined || maxBand >= (isShort ? bands.short : bands.long).length) return null;
    if (!isShort) return this.read(1) === 0 ? { isShort, maxBand, groupLengths: [1] } : null;
    const groupLengths = [1];
    for (let window = 1; window < 8; window++) {
      if (this.read(1) === 0) groupLengths.push(1);
      else groupLengths.push((groupLengths.pop() ?? 0) + 1);
    }
    return { isShort, maxBand, groupLengths };
  }

  private readChannel(common: Window | null): boolean {
    this.position += 8;
    const window = common ?? this.readWindow();
    if (window === null || !this.readSections(window)) return false;
    this.skipScaleFactors(window);
    if (this.read(1) === 1) {
      if (window.isShort) return false;
      const pulses = this.read(2) + 1;
      this.position += 6 + pulses * 9;
    }
    if (this.read(1) === 1) this.skipNoiseShaping(window.isShort);
    // AAC-LC has no gain control.
    return this.read(1) === 0 && this.skipSpectrum(window);
  }

  private readSections({ isShort, maxBand, groupLengths }: Window): boolean {
    const lengthBits = isShort ? 3 : 5;
    const more = (1 << lengthBits) - 1;
    for (let group = 0; group < groupLengths.length; group++) {
      for (let band = 0; band < maxBand;) {
        const book = this.read(4);
        let end = band;
        let length: number;
        do {
          length = this.read(lengthBits);
          end += length;
        } while (length === more && end <= maxBand);
        if (book === 12 || end > maxBand || this.isBeyondEnd) return false;
        this.books.fill(book, group * 64 + band, group * 64 + end);
        band = end;
      }
    }
    return true;
  }

  private skipScaleFactors({ maxBand, groupLengths }: Window): void {
    const { maxBits, table } = SCALE_FACTOR_BOOK;
    let isFirstNoise = true;
    for (let group = 0; group < groupLengths.length; group++) {
      for (let band = 0; band < maxBand; band++) {
        const book = this.books[group * 64 + band] ?? 0;
        if (book === 0) continue;
        if (book === 13 && isFirstNoise) {
          isFirstNoise = false;
          this.position += 9;
        } else {
          this.position += table[this.peek(maxBits)] ?? 0;
        }
      }
    }
  }

  private skipNoiseShaping(isShort: boolean): void {
    for (let window = 0; window < (isShort ? 8 : 1); window++) {
      const filters = this.read(isShort ? 1 : 2);
      const coefficientBits = filters > 0 ? 3 + this.read(1) : 0;
      for (let filter = 0; filter < filters; filter++) {
        this.position += isShort ? 4 : 6;
        const order = this.read(isShort ? 3 : 5);
        if (order === 0) continue;
        this.position += 1;
        const isCompressed = this.read(1);
        this.position += order * (coefficientBits - isCompressed);
      }
    }
  }

  private skipSpectrum({ isShort, maxBand, groupLengths }: Window): boolean {
    const bands = BANDS[this.rateIndex];
    const offsets = isShort ? bands?.short : bands?.long;
    if (offsets === undefined) return false;
    for (const [group, groupLength] of groupLengths.entries()) {
      for (let band = 0; band < maxBand; band++) {
        const book = this.books[group * 64 + band] ?? 0;
        const codebook = CODEBOOKS[book];
        // 0, and 13 to 15, have no spectrum.
        if (book === 0 || codebook === undefined) continue;
        const width = (offsets[band + 1] ?? 0) - (offsets[band] ?? 0);
        if (!this.skipCodewords(codebook, (width * groupLength) / codebook.dimensions)) return false;
      }
      if (this.isBeyondEnd) return false;
    }
    return true;
  }

  private skipCodewords({ maxBits, table }: Codebook, count: number): boolean {
    for (let index = 0; index < count; index++) {
      const entry = table[this.peek(maxBits)] ?? 0;
      this.position += entry & 63;
      for (let escapes = entry >> 6; escapes > 0; escapes--) {
        const ones = Math.clz32(~(this.peek(9) << 23));
        if (ones > 8) return false;
        this.position += 2 * ones + 5;
      }
    }
    return true;
  }
}
