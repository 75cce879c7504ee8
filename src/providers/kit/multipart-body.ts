import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';

/** One field of a form: a short text, or a file. Names and file names come from the gateway, values are untrusted. */
export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly fileName: string; readonly contentType: string; readonly bytes: Buffer };

/**
 * A `multipart/form-data` body that does not copy its files: it is sent piece by piece, so a file of 20 MiB is never
 * concatenated. The boundary is random, so that no value can end its part early.
 */
export class MultipartBody {
  readonly contentType: string;
  private readonly pieces: readonly Buffer[];
  readonly byteLength: number;

  constructor(parts: readonly FormPart[]) {
    const boundary = `gateway-${randomUUID()}`;
    const pieces: Buffer[] = [];
    /** All text between two files is one piece. */
    let text = '';
    for (const part of parts) {
      text += `--${boundary}\r\n${headOf(part)}\r\n\r\n`;
      if ('bytes' in part) {
        pieces.push(Buffer.from(text), part.bytes);
        text = '\r\n';
      } else {
        text += `${part.value}\r\n`;
      }
    }
    pieces.push(Buffer.from(`${text}--${boundary}--\r\n`));
    this.contentType = `multipart/form-data; boundary=${boundary}`;
    this.pieces = pieces;
    this.byteLength = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  /** A new stream of the whole body, for one attempt. */
  toStream(): Readable {
    return Readable.from(this.pieces);
  }
}

function headOf(part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${part.name}"`;
  return 'bytes' in part
    ? `${disposition}; filename="${part.fileName}"\r\nContent-Type: ${part.contentType}`
    : disposition;
}
