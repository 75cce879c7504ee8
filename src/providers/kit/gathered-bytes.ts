const SMALLEST_CAPACITY = 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces and are wanted as one. A single piece, the usual case, is not copied; with more of them the
 * pieces are not kept, since each costs a hundred bytes beside its own, and an upstream may send single ones.
 */
export class GatheredBytes {
  length = 0;
  /** The first piece itself, or memory of our own with room for more. */
  private bytes: Buffer | null = null;

  /** Nothing has been added, not even an empty piece. */
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

  /** What has been gathered; the next piece begins anew. */
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
