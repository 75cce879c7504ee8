import { ProviderError } from '../contract/provider-error';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const NEW_LINE = Buffer.from('\n');
/** No upstream sends a longer line in good faith (F-53). */
const MAX_EVENT_BYTES = 1024 * 1024;

/**
 * Server-sent events from arbitrary pieces of a byte stream, as the bytes of each event's `data`. The bytes are a view
 * into what was pushed wherever an event arrived in one piece; characters are never split because nothing is decoded
 * here. Other fields than `data` are ignored.
 */
export class SseDecoder {
  /** Pieces of the line that has no end yet. */
  private partial: Buffer[] = [];
  private partialBytes = 0;
  /** Lines of the event's `data` so far. */
  private data: Buffer[] = [];
  private dataBytes = 0;
  private lastByteWasCarriageReturn = false;

  constructor(private readonly onEvent: (data: Buffer) => void) {}

  /**
   * @returns whether a line ended, comments included: a sign of life, which single bytes of a line are not
   * @throws ProviderError `provider_error` when an event passes 1 MiB
   */
  push(chunk: Buffer): boolean {
    const bytes = this.lastByteWasCarriageReturn || chunk.includes(CARRIAGE_RETURN) ? this.toLineFeeds(chunk) : chunk;
    let start = 0;
    let end = bytes.indexOf(LINE_FEED);
    if (end === -1) {
      this.keep(bytes);
      return false;
    }
    for (; end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      this.line(this.partialBytes === 0 ? bytes.subarray(start, end) : this.complete(bytes.subarray(start, end)));
      start = end + 1;
    }
    this.keep(bytes.subarray(start));
    return true;
  }

  /** The stream is over. Some upstreams leave out the blank line, or even the line end, after the last event. */
  end(): void {
    if (this.partialBytes > 0) this.line(this.complete(Buffer.alloc(0)));
    this.line(Buffer.alloc(0));
  }

  private line(line: Buffer): void {
    if (line.length === 0) {
      if (this.data.length > 0) this.dispatch();
      return;
    }
    const nameLength = DATA.length;
    if (line.length < nameLength || DATA.compare(line, 0, nameLength) !== 0) return;
    if (line.length > nameLength && line[nameLength] !== COLON) return;
    const value = line.subarray(nameLength + (line[nameLength + 1] === SPACE ? 2 : 1));
    this.data.push(value);
    this.dataBytes += value.length + 1;
    this.checkSize(this.dataBytes);
  }

  private dispatch(): void {
    const [first] = this.data;
    const single = this.data.length === 1 && first !== undefined;
    const event = single ? first : Buffer.concat(this.data.flatMap((line, i) => (i === 0 ? [line] : [NEW_LINE, line])));
    this.data = [];
    this.dataBytes = 0;
    this.onEvent(event);
  }

  private keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.partial.push(bytes);
    this.partialBytes += bytes.length;
    this.checkSize(this.partialBytes);
  }

  private complete(rest: Buffer): Buffer {
    const line = Buffer.concat([...this.partial, rest]);
    this.partial = [];
    this.partialBytes = 0;
    return line;
  }

  private checkSize(bytes: number): void {
    if (bytes <= MAX_EVENT_BYTES) return;
    throw new ProviderError('provider_error', 'The provider sent an event longer than 1 MiB.', {
      phase: 'first_token',
      fallback: true,
    });
  }

  /** CR LF and a lone CR end a line too. JSON never holds a raw CR, so that hardly any stream comes this way. */
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
