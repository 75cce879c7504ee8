import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { GatewayError } from '../errors/gateway-error';
import { type FormFile, MultipartForm } from '../types/multipart-form';
import type { FormRules } from './route.decorators';
import { type PartHeader, readPartHeader } from './form-headers';

const MAX_PARTS = 64;
const MAX_HEADER_BYTES = 8_192;
const MAX_PADDING_BYTES = 64;
const MAX_PREAMBLE_BYTES = 1_024;
const MAX_TEXT_BYTES = 64 * 1024;
/** 32,000 characters of four bytes each. */
const MAX_PROMPT_BYTES = 128_000;

/** ISO-8859-1 is what Apache's HttpClient declares for a text by default. */
const LATIN1 = 'iso-8859-1';
const CHARSETS: ReadonlySet<string | null> = new Set([null, 'utf-8', 'us-ascii', LATIN1]);

const CRLF = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
const DASH = 0x2d;

/** The parser state: the rest of a delimiter line, a part header, part content, or the ignored epilogue. */
type State = 'preamble' | 'delimiter' | 'header' | 'content' | 'epilogue';

interface LocatedFile {
  readonly part: PartHeader;
  readonly start: number;
  readonly end: number;
  readonly sha256: string;
}

/**
 * An incremental form parser. The bytes stay in the caller's buffer and files are views of it, so a form takes no more
 * memory than its length. An invalid form is refused at the first invalid byte, and nothing is skipped: silently losing
 * a field would change the request.
 *
 * Not `@fastify/busboy`: it skips malformed parts, repairs invalid UTF-8, and copies. Tests show these differences, and
 * that both read the same from well-formed forms.
 */
export class FormParser {
  private readonly delimiter: Buffer;
  private state: State = 'preamble';
  /** Start of the current state. */
  private start = 0;
  /** End of the content that was scanned and hashed. */
  private scanned = 0;
  private part: PartHeader | null = null;
  private hash: Hash | null = null;
  private parts = 0;
  private readonly fields = new Map<string, string[]>();
  private readonly files: LocatedFile[] = [];

  constructor(
    boundary: string,
    private readonly rules: FormRules,
  ) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /**
   * Continues where the last call stopped. @param body all bytes received so far.
   * @throws GatewayError `validation_failed`, with the field name as `param` where known.
   */
  advance(body: Buffer): void {
    while (this.step(body));
  }

  /** Whether the last boundary was seen; the bytes after it are ignored. */
  get isComplete(): boolean {
    return this.state === 'epilogue';
  }

  /** @param body the whole body. @throws GatewayError `validation_failed` when the form is incomplete. */
  finish(body: Buffer): MultipartForm {
    if (!this.isComplete) throw refused('The form ends without its closing boundary.');
    const files = this.files.map(({ part, start, end, sha256 }): FormFile => {
      const contentType = part.contentType ?? 'application/octet-stream';
      return { field: part.name, contentType, bytes: body.subarray(start, end), sha256 };
    });
    return new MultipartForm(this.fields, files);
  }

  /** Whether the received bytes allow another step. */
  private step(body: Buffer): boolean {
    switch (this.state) {
      case 'preamble':
        return this.findFirstDelimiter(body);
      case 'delimiter':
        return this.endDelimiter(body);
      case 'header':
        return this.readHeader(body);
      case 'content':
        return this.readContent(body);
      case 'epilogue':
        return false;
    }
  }

  private enter(state: State, at: number): true {
    this.state = state;
    this.start = at;
    this.scanned = at;
    return true;
  }

  private findFirstDelimiter(body: Buffer): boolean {
    const first = this.delimiter.subarray(CRLF.length);
    if (body.length < first.length) return false;
    if (body.compare(first, 0, first.length, 0, first.length) === 0) return this.enter('delimiter', first.length);
    const at = body.subarray(0, MAX_PREAMBLE_BYTES + this.delimiter.length).indexOf(this.delimiter);
    if (at !== -1) return this.enter('delimiter', at + this.delimiter.length);
    if (body.length < MAX_PREAMBLE_BYTES + this.delimiter.length) return false;
    throw refused('The form does not begin with the boundary that its Content-Type names.');
  }

  private endDelimiter(body: Buffer): boolean {
    const { start } = this;
    if (body.length < start + 2) return false;
    if (body[start] === DASH && body[start + 1] === DASH) return this.enter('epilogue', start + 2);
    const end = body.subarray(start, start + MAX_PADDING_BYTES + CRLF.length).indexOf(CRLF);
    if (end === -1 && body.length < start + MAX_PADDING_BYTES + CRLF.length) return false;
    if (end === -1 || !/^[ \t]*$/.test(body.toString('latin1', start, start + end))) {
      throw refused('A boundary of the form is followed by other characters on its line.');
    }
    if (++this.parts > MAX_PARTS) throw refused(`The form has more than ${MAX_PARTS} parts.`);
    return this.enter('header', start + end + CRLF.length);
  }

  private readHeader(body: Buffer): boolean {
    const { start } = this;
    const size = body.subarray(start, start + MAX_HEADER_BYTES + BLANK_LINE.length).indexOf(BLANK_LINE);
    if (size === -1) {
      if (body.length < start + MAX_HEADER_BYTES + BLANK_LINE.length) return false;
      throw refused(`A part of the form has headers of more than ${MAX_HEADER_BYTES} bytes.`);
    }
    this.part = readPartHeader(body.subarray(start, start + size));
    this.hash = this.admit(this.part) ? createHash('sha256') : null;
    return this.enter('content', start + size + BLANK_LINE.length);
  }

  /** Whether the part is a file. */
  private admit({ name, named, charset }: PartHeader): boolean {
    if (Object.hasOwn(this.rules.files, name)) {
      const limit = this.rules.files[name] ?? 0;
      const count = this.files.filter(({ part }) => part.name === name).length;
      if (count < limit) return true;
      throw refused(limit === 1 ? `${name} must be one file.` : `${name} must be at most ${limit} files.`, name);
    }
    if (named) throw refused(`${name} is not a file that this endpoint takes.`, name);
    if (CHARSETS.has(charset)) return false;
    throw refused(`${name} must be text in UTF-8 or ISO-8859-1.`, name);
  }

  private readContent(body: Buffer): boolean {
    const end = body.indexOf(this.delimiter, this.scanned);
    // The last bytes may be the start of the delimiter.
    const safe = end === -1 ? Math.max(this.scanned, body.length - this.delimiter.length + 1) : end;
    if (this.hash !== null) this.hash.update(body.subarray(this.scanned, safe));
    else this.limitText(safe - this.start);
    this.scanned = safe;
    if (end === -1) return false;
    this.endPart(body, end);
    return this.enter('delimiter', end + this.delimiter.length);
  }

  private limitText(bytes: number): void {
    const name = this.part?.name ?? '';
    const limit = name === 'prompt' ? MAX_PROMPT_BYTES : MAX_TEXT_BYTES;
    if (bytes > limit) throw refused(`${name} must be a text of at most ${limit} bytes.`, name);
  }

  private endPart(body: Buffer, end: number): void {
    const { part, hash, start } = this;
    if (part === null) return;
    if (hash !== null) {
      this.files.push({ part, start, end, sha256: hash.digest('hex') });
      return;
    }
    const bytes = body.subarray(start, end);
    const isLatin1 = part.charset === LATIN1;
    if (!(isLatin1 || isUtf8(bytes)) || bytes.includes(0)) {
      throw refused(`${part.name} must be text in ${isLatin1 ? 'ISO-8859-1' : 'UTF-8'} without NUL.`, part.name);
    }
    const text = bytes.toString(isLatin1 ? 'latin1' : 'utf8');
    const values = this.fields.get(part.name);
    if (values === undefined) this.fields.set(part.name, [text]);
    else values.push(text);
  }
}

function refused(message: string, param?: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
