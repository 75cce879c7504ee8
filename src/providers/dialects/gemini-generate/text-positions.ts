/** The limit for text that keeps changing between scripts, 72 KiB; positions beyond it are unknown. */
const MAX_RUNS = 3_072;
/** Numbers per run: its first byte, its first UTF-16 unit, and the bytes of each of its characters. */
const RUN = 3;

/**
 * Finds UTF-16 positions for UTF-8 offsets in a text without keeping the text: only the runs of characters of the same
 * width are kept. An ASCII text is a single run.
 */
export class TextPositions {
  /** A flat list with three numbers per run. */
  private readonly runs: number[] = [];
  private bytes = 0;
  private units = 0;
  private width = 0;

  /** UTF-16 units of the text. */
  get length(): number {
    return this.units;
  }

  add(text: string): this {
    if (Buffer.byteLength(text) === text.length) {
      if (text !== '') this.extend(1, text.length, text.length);
      return this;
    }
    for (const character of text) {
      const width = widthOf(character.codePointAt(0) ?? 0);
      this.extend(width, width, character.length);
    }
    return this;
  }

  /** An offset within a character gives its start, one beyond the text gives the end. `null`: unknown. */
  at(offset: number): number | null {
    if (offset >= this.bytes) return this.units;
    let low = 0;
    let high = this.runs.length / RUN - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.runs[middle * RUN] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const [firstByte = 0, firstUnit = 0, width = 0] = this.runs.slice(low * RUN, low * RUN + RUN);
    if (width === 0) return null;
    const characters = Math.floor(Math.max(offset - firstByte, 0) / width);
    // Only characters of four bytes have two UTF-16 units.
    return firstUnit + characters * (width === 4 ? 2 : 1);
  }

  private extend(width: number, bytes: number, units: number): void {
    if (width !== this.width && this.runs.length < MAX_RUNS * RUN) {
      const isLast = this.runs.length === (MAX_RUNS - 1) * RUN;
      this.runs.push(this.bytes, this.units, isLast ? 0 : width);
      this.width = width;
    }
    this.bytes += bytes;
    this.units += units;
  }
}

function widthOf(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
