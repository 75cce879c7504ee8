const SMALLEST_CAPACITY = 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Joins bytes that arrive in pieces. A single piece, the usual case, is not copied; several are copied into one buffer,
 * since each piece has an overhead of a hundred bytes and an upstream may send single bytes.
 */
export class GatheredBytes {
  length = 0;
  /** The first piece itself, or an allocated buffer with room for more. */
  private bytes: Buffer | null = null;

  /** True until a piece is added, even an empty one. */
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
