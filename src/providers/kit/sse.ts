import { ProviderError } from '../contract/provider-error';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const NUL = 0x00;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const NEW_LINE = Buffer.from('\n');
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** No well-behaved upstream that streams pieces of an answer sends a longer event (fault test F-53). */
const MAX_EVENT_BYTES = 1024 * 1024;

/**
 * Decodes server-sent events from arbitrary pieces of a byte stream, and yields the bytes of each event's `data`. If an
 * event arrived in one piece, the bytes are a view into that piece. Nothing is decoded here, so characters are never
 * split. Fields other than `data` are ignored, unless NUL bytes show that the line is damaged: then the whole line
 * counts as data.
 */
export class SseDecoder {
  /** The incomplete last line. */
  private readonly partial = new GatheredBytes();
  /** Lines of the event's `data` so far. */
  private readonly data = new GatheredBytes();
  private lastByteWasCarriageReturn = false;
  private isFirstLine = true;
  private sawActivity = false;

  /** @param maxEventBytes above the default only for formats that repeat the whole answer in one event */
  constructor(
    private readonly onEvent: (data: Buffer) => void,
    private readonly maxEventBytes = MAX_EVENT_BYTES,
  ) {}

  /**
   * @returns whether an event or a comment was completed, which counts as activity; parts of an event do not
   * @throws ProviderError `provider_error` when an event exceeds the limit, by default 1 MiB
   */
  push(chunk: Buffer): boolean {
    const bytes = this.lastByteWasCarriageReturn || chunk.includes(CARRIAGE_RETURN) ? this.toLineFeeds(chunk) : chunk;
    this.sawActivity = false;
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      this.line(this.partial.isEmpty ? bytes.subarray(start, end) : this.complete(bytes.subarray(start, end)));
      start = end + 1;
    }
    this.keep(start === 0 ? bytes : bytes.subarray(start));
    return this.sawActivity;
  }

  /** Ends the stream. Some upstreams omit the blank line, or even the line ending, after the last event. */
  end(): void {
    if (!this.partial.isEmpty) this.line(this.complete(Buffer.alloc(0)));
    this.line(Buffer.alloc(0));
  }

  private line(given: Buffer): void {
    const line = this.isFirstLine ? withoutByteOrderMark(given) : given;
    this.isFirstLine = false;
    if (line.length === 0) {
      if (!this.data.isEmpty) this.dispatch();
      return;
    }
    if (line[0] === COLON) {
      this.sawActivity = true;
      return;
    }
    const nameLength = DATA.length;
    const isData =
      line.length >= nameLength &&
      DATA.compare(line, 0, nameLength) === 0 &&
      (line.length === nameLength || line[nameLength] === COLON);
    if (isData) this.addData(line.subarray(nameLength + (line[nameLength + 1] === SPACE ? 2 : 1)));
    // The damaged bytes may have been text of the response: report an event that does not parse instead of ignoring it.
    else if (line.includes(NUL)) this.addData(line);
  }

  private addData(value: Buffer): void {
    if (!this.data.isEmpty) this.data.add(NEW_LINE);
    this.data.add(value);
    this.checkSize(this.data.length);
  }

  private dispatch(): void {
    this.sawActivity = true;
    this.onEvent(this.data.take());
  }

  private keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.partial.add(bytes);
    this.checkSize(this.partial.length);
  }

  private complete(rest: Buffer): Buffer {
    this.partial.add(rest);
    return this.partial.take();
  }

  private checkSize(bytes: number): void {
    if (bytes <= this.maxEventBytes) return;
    throw new ProviderError('provider_error', 'The provider sent an event that is too long.', {
      phase: 'first_token',
      fallback: true,
    });
  }

  /** Converts line ends: CR LF and a lone CR also end a line. JSON never contains a raw CR, so this path is rare. */
  private toLineFeeds(chunk: Buffer): Buffer {
    const bytes = Buffer.allocUnsafe(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      const endsCrLf = byte === LINE_FEED && this.lastByteWasCarriageReturn;
      this.lastByteWasCarriageReturn = byte === CARRIAGE_RETURN;
      if (!endsCrLf) bytes[length++] = byte === CARRIAGE_RETURN ? LINE_FEED : byte;
    }
    return bytes.subarray(0, length);
  }
}

/** The standard allows a byte order mark before the first line. If kept, it would make that line's field unknown. */
function withoutByteOrderMark(line: Buffer): Buffer {
  const length = BYTE_ORDER_MARK.length;
  return BYTE_ORDER_MARK.equals(line.subarray(0, length)) ? line.subarray(length) : line;
}

const SMALLEST_CAPACITY = 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Joins bytes that arrive in pieces. A single piece, the usual case, is not copied. Several are copied into one buffer,
 * since each piece has an overhead of a hundred bytes and an upstream may send single bytes.
 */
class GatheredBytes {
  length = 0;
  /** The first piece itself, or an allocated buffer with room for more. */
  private bytes: Buffer | null = null;

  /** True until a piece is added; an empty piece counts. */
  get isEmpty(): boolean {
    return this.bytes === null;
  }

  add(piece: Buffer): void {
    const length = this.length + piece.length;
    if (this.bytes === null) {
      this.bytes = piece;
    } else {
      if (length > this.bytes.length) this.bytes = this.grow(this.bytes, length);
      piece.copy(this.bytes, this.length);
    }
    this.length = length;
  }

  /** Returns the joined bytes and resets. */
  take(): Buffer {
    const { bytes, length } = this;
    this.bytes = null;
    this.length = 0;
    if (bytes === null) return EMPTY;
    return bytes.length === length ? bytes : bytes.subarray(0, length);
  }

  private grow(bytes: Buffer, needed: number): Buffer {
    const grown = Buffer.allocUnsafe(Math.max(SMALLEST_CAPACITY, 2 * needed));
    bytes.copy(grown, 0, 0, this.length);
    return grown;
  }
}
