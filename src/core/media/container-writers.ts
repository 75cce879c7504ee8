/** Writes measured packets to new files, in one container per coding. */

/** How much larger than expected a file may become: tables can reference the same bytes repeatedly. */
const [MAX_GROWTH, MAX_EXTRA_BYTES] = [1.1, 65_536];

/** A growing byte buffer. */
export class ByteSink {
  private content: Uint8Array<ArrayBuffer>;
  private used = 0;
  private readonly maxBytes: number;

  /** @param expectedBytes the approximate final size. */
  constructor(expectedBytes: number, maxBytes = expectedBytes * MAX_GROWTH + MAX_EXTRA_BYTES) {
    this.content = new Uint8Array(Math.max(Math.ceil(expectedBytes), 4_096));
    this.maxBytes = maxBytes;
  }

  get length(): number {
    return this.used;
  }

  /** @throws Error when the size exceeds the limit. */
  push(bytes: Uint8Array): void {
    const end = this.used + bytes.length;
    if (end > this.maxBytes) throw new Error('more audio than the file has bytes');
    if (end > this.content.length) {
      const larger = new Uint8Array(Math.ceil(end * 1.5));
      larger.set(this.view());
      this.content = larger;
    }
    this.content.set(bytes, this.used);
    this.used = end;
  }

  /** The bytes so far, not copied. */
  view(): Uint8Array<ArrayBuffer> {
    return this.content.subarray(0, this.used);
  }
}

const OGG_CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc;
});
const OGG_SERIAL = 1;
const OGG_HEADER_BYTES = 27;
const MAX_SEGMENTS = 255;
/** Maximum packet size, so that each fits into one page. */
const MAX_OGG_PACKET_BYTES = MAX_SEGMENTS * 255 - 1;

/** Room for the pages around packets of this size: they add 1 %, more with small packets. */
export const oggSink = (expectedBytes: number): ByteSink => new ByteSink(expectedBytes * 1.03);

/** An Ogg file (RFC 3533) with one stream, written page by page. */
export class OggWriter {
  private packets: Uint8Array[] = [];
  private segments: number[] = [];
  private pages = 0;
  private granule = 0;
  private pageStart = 0;

  constructor(
    private readonly sink: Pick<ByteSink, 'push'>,
    private readonly samplesPerPage: number,
  ) {}

  /** A header packet on a separate page. */
  addHeader(packet: Uint8Array): void {
    this.add(packet, 0);
    this.endPage(false);
  }

  /** @throws Error for a packet larger than a page. */
  add(packet: Uint8Array, samples: number): void {
    if (packet.length > MAX_OGG_PACKET_BYTES) throw new Error('a packet larger than a page');
    const full = Math.floor(packet.length / 255);
    if (this.segments.length + full + 1 > MAX_SEGMENTS) this.endPage(false);
    for (let index = 0; index < full; index++) this.segments.push(255);
    this.segments.push(packet.length % 255);
    this.packets.push(packet);
    this.granule += samples;
    if (this.granule - this.pageStart >= this.samplesPerPage) this.endPage(false);
  }

  finish(): void {
    this.endPage(true);
  }

  private endPage(isLast: boolean): void {
    if (this.segments.length === 0 && !isLast) return;
    const header = Buffer.alloc(OGG_HEADER_BYTES + this.segments.length);
    header.write('OggS', 0, 'latin1');
    header[5] = (this.pages === 0 ? 2 : 0) | (isLast ? 4 : 0);
    header.writeBigInt64LE(BigInt(this.granule), 6);
    header.writeUInt32LE(OGG_SERIAL, 14);
    header.writeUInt32LE(this.pages++, 18);
    header[26] = this.segments.length;
    header.set(this.segments, OGG_HEADER_BYTES);
    let crc = oggCrc(header, 0);
    for (const packet of this.packets) crc = oggCrc(packet, crc);
    header.writeUInt32LE(crc >>> 0, 22);
    this.sink.push(header);
    for (const packet of this.packets) this.sink.push(packet);
    [this.packets, this.segments, this.pageStart] = [[], [], this.granule];
  }
}

function oggCrc(bytes: Uint8Array, before: number): number {
  let crc = before;
  for (let at = 0; at < bytes.length; at++) crc = (crc << 8) ^ (OGG_CRC[((crc >>> 24) ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  return crc;
}

/** Properties of an MP4 track. */
export interface Mp4Track {
  /** Samples per second, also the time scale. */
  readonly rateHz: number;
  readonly channels: number;
  readonly sampleBits: number;
  /** Of the sample entry, for example `mp4a`. */
  readonly format: string;
  /** The boxes within the sample entry that configure the decoder. */
  readonly configuration: Buffer;
}

/** Whole numbers, four bytes each. */
class NumberList {
  private readonly sink = new ByteSink(0, Infinity);
  private readonly word = Buffer.alloc(4);

  get count(): number {
    return this.sink.length / 4;
  }

  push(value: number): void {
    this.word.writeUInt32BE(value);
    this.sink.push(this.word);
  }

  view(): Uint8Array {
    return this.sink.view();
  }
}

/** An MP4 file (ISO 14496-12) with one audio track in one chunk, preceded by its tables. */
export class Mp4Writer {
  private readonly data: ByteSink;
  private readonly sizes = new NumberList();
  /** Pairs: number of consecutive packets and their sample count. */
  private readonly durations = new NumberList();
  private runLength = 0;
  private runSamples = 0;
  private samples = 0;

  constructor(expectedBytes: number) {
    this.data = new ByteSink(expectedBytes);
  }

  add(packet: Uint8Array, samples: number): void {
    if (samples !== this.runSamples) this.endRun();
    this.runSamples = samples;
    this.runLength++;
    this.samples += samples;
    this.sizes.push(packet.length);
    this.data.push(packet);
  }

  finish(track: Mp4Track): Uint8Array<ArrayBuffer> {
    this.endRun();
    const type = box('ftyp', Buffer.from('M4A \0\0\0\0M4A isommp42', 'latin1'));
    const head = (dataAt: number): Buffer =>
      Buffer.concat([type, this.movie(track, dataAt), mdatHead(this.data.length)]);
    const file = new ByteSink(this.data.length + head(0).length);
    file.push(head(head(0).length));
    file.push(this.data.view());
    return file.view();
  }

  private endRun(): void {
    if (this.runLength === 0) return;
    this.durations.push(this.runLength);
    this.durations.push(this.runSamples);
    this.runLength = 0;
  }

  private movie({ rateHz, channels, sampleBits, format, configuration }: Mp4Track, dataAt: number): Buffer {
    const { samples } = this;
    const matrix = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000];
    // The field has 16 bits; decoders take the rate from their configuration.
    const entryRate = rateHz <= 0xffff ? (rateHz << 16) >>> 0 : 0;
    const entry = box(format, words(0, 1, 0, 0, (channels << 16) | sampleBits, 0, entryRate), configuration);
    const tables = box(
      'stbl',
      box('stsd', words(0, 1), entry),
      box('stts', words(0, this.durations.count / 2), this.durations.view()),
      box('stsc', words(0, 1, 1, this.sizes.count, 1)),
      box('stsz', words(0, 0, this.sizes.count), this.sizes.view()),
      box('stco', words(0, 1, dataAt)),
    );
    const media = box(
      'mdia',
      box('mdhd', words(0, 0, 0, rateHz, samples, 0x55c40000)),
      box('hdlr', words(0, 0), Buffer.from('soun'), words(0, 0, 0), Buffer.from([0])),
      box('minf', box('smhd', words(0, 0)), box('dinf', box('dref', words(0, 1), box('url ', words(1)))), tables),
    );
    return box(
      'moov',
      box('mvhd', words(0, 0, 0, rateHz, samples, 0x10000, 0x01000000, 0, 0, ...matrix, 0, 0, 0, 0, 0, 0, 2)),
      box('trak', box('tkhd', words(3, 0, 0, 1, 0, samples, 0, 0, 0, 0x01000000, ...matrix, 0, 0)), media),
    );
  }
}

function mdatHead(bytes: number): Buffer {
  return Buffer.concat([words(8 + bytes), Buffer.from('mdat')]);
}

function box(type: string, ...contents: readonly Uint8Array[]): Buffer {
  const bytes = contents.reduce((sum, { length }) => sum + length, 8);
  return Buffer.concat([words(bytes), Buffer.from(type, 'latin1'), ...contents]);
}

/** 32 bits each. */
function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

/** The `esds` box of AAC around an AudioSpecificConfig. */
export function aacConfigurationBox(config: Buffer): Buffer {
  const specific = Buffer.concat([Buffer.from([5, config.length]), config]);
  const decoder = Buffer.concat([Buffer.from([4, 13 + specific.length, 0x40, 0x15]), Buffer.alloc(11), specific]);
  const layer = Buffer.from([6, 1, 2]);
  const stream = Buffer.from([3, 3 + decoder.length + layer.length, 0, 0, 0]);
  return box('esds', words(0), stream, decoder, layer);
}

/** The `alac` box around the 24 bytes of a cookie. */
export function alacConfigurationBox(cookie: Buffer): Buffer {
  return box('alac', words(0), cookie);
}

/** The coding of a WAV file. */
export interface WavFormat {
  /** 1: whole numbers, 3: floating point, 6: A-law, 7: mu-law. */
  readonly tag: number;
  readonly channels: number;
  readonly rateHz: number;
  readonly sampleBytes: number;
}

/** The header of a WAV file for the given audio size: 44 bytes, and titles as a whole chunk. */
export function wavHeader(
  { tag, channels, rateHz, sampleBytes }: WavFormat,
  dataBytes: number,
  titles: Buffer,
): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + titles.length + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(rateHz * channels * sampleBytes, 28);
  header.writeUInt16LE(channels * sampleBytes, 32);
  header.writeUInt16LE(sampleBytes * 8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return Buffer.concat([header.subarray(0, 36), titles, header.subarray(36)]);
}
