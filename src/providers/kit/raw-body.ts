import { Readable } from 'node:stream';

/** A file as the whole body. It is not copied. */
export class RawBody {
  readonly byteLength: number;

  constructor(
    readonly contentType: string,
    private readonly bytes: Buffer,
  ) {
    this.byteLength = bytes.length;
  }

  /** A new stream of the body, for one attempt. */
  toStream(): Readable {
    return Readable.from([this.bytes]);
  }
}
