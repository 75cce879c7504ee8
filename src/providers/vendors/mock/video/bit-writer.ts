const START_BYTES = 4_096;
/** Two zero bytes before a byte up to this one would look like the start of the next unit. */
const MOST_TO_ESCAPE = 3;
const ESCAPE = 3;

/** Writes the bits of one H.264 unit (ITU-T H.264, sections 7.2 and 9.1). */
export class BitWriter {
  private bytes = new Uint8Array(START_BYTES);
  private length = 0;
  private pending = 0;
  private pendingBits = 0;

  /** The lowest `count` bits of a number; at most 24. */
  write(value: number, count: number): void {
    this.pending = (this.pending << count) | value;
    this.pendingBits += count;
    while (this.pendingBits >= 8) {
      this.pendingBits -= 8;
      this.push((this.pending >>> this.pendingBits) & 0xff);
    }
    this.pending &= (1 << this.pendingBits) - 1;
  }

  flag(value: boolean): void {
    this.write(value ? 1 : 0, 1);
  }

  /** An unsigned Exp-Golomb number: smaller numbers are shorter. */
  writeUnsigned(value: number): void {
    const bits = 32 - Math.clz32(value + 1);
    this.write(0, bits - 1);
    this.write(value + 1, bits);
  }

  writeSigned(value: number): void {
    this.writeUnsigned(value > 0 ? 2 * value - 1 : -2 * value);
  }

  /** Ends the unit. @param header Its first byte: importance and type. */
  toUnit(header: number): Buffer {
    this.write(1, 1);
    if (this.pendingBits > 0) this.write(0, 8 - this.pendingBits);
    const unit = new Uint8Array(1 + this.length + Math.ceil(this.length / 2));
    unit[0] = header;
    let end = 1;
    let zeros = 0;
    for (let at = 0; at < this.length; at++) {
      const byte = this.bytes[at] as number;
      if (zeros === 2 && byte <= MOST_TO_ESCAPE) {
        unit[end++] = ESCAPE;
        zeros = 0;
      }
      unit[end++] = byte;
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return Buffer.from(unit.subarray(0, end));
  }

  private push(byte: number): void {
    if (this.length === this.bytes.length) {
      const longer = new Uint8Array(2 * this.length);
      longer.set(this.bytes);
      this.bytes = longer;
    }
    this.bytes[this.length++] = byte;
  }
}
