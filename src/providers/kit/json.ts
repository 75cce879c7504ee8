import { ProviderError } from '../contract/provider-error';

export type JsonObject = Record<string, unknown>;

/** Whether a parsed JSON value is an object, and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The value at a JSON pointer (RFC 6901).
 * @param steps of the pointer, with `~0` and `~1` not yet decoded
 * @returns `undefined` if the document has no such value
 */
export function valueAtPointer(document: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((target, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return Object.hasOwn(Object(target) as object, key) ? (target as JsonObject)[key] : undefined;
  }, document);
}

const BYTE_ORDER_MARK = '\uFEFF';

/** The JSON text that a provider sent. A byte order mark is skipped, as clients that read with `fetch` do. */
export function toJsonText(json: string | Buffer): string {
  const text = typeof json === 'string' ? json : json.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** The object that the JSON text, or its UTF-8 bytes, contains; `null` for invalid JSON and for any other value. */
export function parseJsonObject(json: string | Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(toJsonText(json));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Decodes base64, padded or not; `null` when the text is invalid or empty. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  // The decoder skips characters outside the alphabet, so the length reveals invalid text.
  return bytes.length > 0 && bytes.length === decodedLength(text) ? bytes : null;
}

function decodedLength(text: string): number {
  let characters = text.length;
  while (text.charCodeAt(characters - 1) === 0x3d) characters--;
  return Math.floor((characters * 3) / 4);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** Items are in a list that is a member of the outermost object. */
const LIST_DEPTH = 2;
/** The frame is everything except the items: a few short fields. */
const MAX_FRAME_LENGTH = 64 * 1024;

/**
 * Splits a JSON object with a long list into the list's items while the bytes arrive, so that the object is never held
 * in memory or parsed as a whole. The rest, the frame, is the object with an empty list.
 */
export class DataSplitter {
  private depth = 0;
  private inText = false;
  private escaped = false;
  private inList = false;
  private inItem = false;
  /** Pieces of the current item from earlier reads. */
  private pieces: Buffer[] = [];
  /** Latin-1: one character per byte. */
  private rawFrame = '';
  /** Matches the text up to the first item. */
  private readonly listStart: RegExp;

  /** @param list name of the list */
  constructor(
    private readonly onItem: (json: Buffer) => void,
    list = 'data',
  ) {
    this.listStart = new RegExp(`"${list}"\\s*:\\s*\\[$`);
  }

  /** @throws ProviderError when the frame is too long for a list of results; rethrows errors of `onItem` */
  push(chunk: Buffer): void {
    /** Start of the unprocessed bytes: the rest of an item, or a part of the frame. */
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (this.inText) {
        at = this.skipText(chunk, at);
        continue;
      }
      switch (chunk[at]) {
        case QUOTE:
          this.inText = true;
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          from = this.openBracket(chunk, from, at);
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          from = this.closeBracket(chunk, from, at);
          break;
      }
    }
    if (this.inItem) this.pieces.push(chunk.subarray(from));
    else this.addToFrame(chunk, from, chunk.length);
  }

  /** The frame, once all bytes have been pushed. */
  end(): string {
    return Buffer.from(this.rawFrame, 'latin1').toString('utf8');
  }

  /** Skips to the end of the string or of the chunk, so that megabytes of base64 are not scanned byte by byte. */
  private skipText(chunk: Buffer, start: number): number {
    let at = start;
    if (this.escaped) {
      this.escaped = false;
      at++;
    }
    let quote = chunk.indexOf(QUOTE, at);
    for (;;) {
      const end = quote === -1 ? chunk.length : quote;
      // Only up to the end of the string: a later escape belongs to another string.
      const backslash = chunk.subarray(at, end).indexOf(BACKSLASH);
      if (backslash === -1) {
        this.inText = quote === -1;
        return end;
      }
      at += backslash + 2;
      if (at > chunk.length) {
        this.escaped = true;
        return chunk.length;
      }
      if (quote !== -1 && at > quote) quote = chunk.indexOf(QUOTE, at);
    }
  }

  private openBracket(chunk: Buffer, from: number, at: number): number {
    this.depth++;
    if (this.inItem) return from;
    if (this.inList) {
      this.addToFrame(chunk, from, at);
      this.inItem = true;
      return at;
    }
    if (this.depth !== LIST_DEPTH || chunk[at] !== OPEN_BRACKET) return from;
    this.addToFrame(chunk, from, at + 1);
    this.inList = this.listStart.test(this.rawFrame);
    return at + 1;
  }

  private closeBracket(chunk: Buffer, from: number, at: number): number {
    this.depth--;
    if (this.inItem && this.depth === LIST_DEPTH) {
      this.inItem = false;
      const last = chunk.subarray(from, at + 1);
      const item = this.pieces.length === 0 ? last : Buffer.concat([...this.pieces, last]);
      this.pieces = [];
      this.onItem(item);
      return at + 1;
    }
    if (this.inItem || !this.inList) return from;
    this.addToFrame(chunk, from, at);
    this.inList = false;
    return at;
  }

  /** Between the items of the list there are only commas and white space. */
  private addToFrame(chunk: Buffer, from: number, to: number): void {
    const text = chunk.toString('latin1', from, to);
    this.rawFrame += this.inList ? text.replaceAll(/[\s,]+/g, '') : text;
    if (this.rawFrame.length > MAX_FRAME_LENGTH) {
      throw new ProviderError('provider_error', 'The provider sent a response that is not a list of results.', {
        phase: 'first_token',
        fallback: true,
      });
    }
  }
}
