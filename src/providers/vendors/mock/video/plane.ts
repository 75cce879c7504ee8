const UNKNOWN = 128;
const MOST = 255;
const LUMA_SIDE = 4;
/** Rows of the Hadamard transform. */
const HADAMARD = [
  [1, 1, 1, 1],
  [1, 1, -1, -1],
  [1, -1, -1, 1],
  [1, -1, 1, -1],
] as const;
/** Positions of the coefficients in writing order. */
const ZIGZAG = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15] as const;

/**
 * One plane of a picture as decoders reconstruct it, one number per cell. Macroblocks are predicted from those above
 * and to the left and then corrected by coefficients, always from the decoder's reconstruction (ITU-T H.264, sections
 * 8.3 and 8.5), so that errors do not grow.
 */
export class Plane {
  /** What the next macroblock should look like, row by row. */
  readonly wanted: Int32Array;

  private readonly cells: Uint8Array;
  private readonly width: number;
  private readonly levels: Int32Array;

  /** @param side Cells of a macroblock: 4 of luma, 2 of chroma. */
  constructor(
    columns: number,
    rows: number,
    private readonly side: number,
  ) {
    this.width = columns * side;
    this.cells = new Uint8Array(this.width * rows * side);
    this.wanted = new Int32Array(side * side);
    this.levels = new Int32Array(side * side);
  }

  /** Codes the wanted macroblock; the result is overwritten by the next call. */
  predictLuma(row: number, column: number): Int32Array {
    const top = row > 0 ? this.sumAbove(row, column, 0, LUMA_SIDE) : null;
    const left = column > 0 ? this.sumBefore(row, column, 0, LUMA_SIDE) : null;
    const predicted =
      top !== null && left !== null
        ? (LUMA_SIDE * (top + left) + 16) >> 5
        : top === null && left === null
          ? UNKNOWN
          : (LUMA_SIDE * ((top ?? 0) + (left ?? 0)) + 8) >> 4;
    const coefficients = hadamard(this.wanted.map((value) => value - predicted)).map((sum) => Math.round(sum / 16));
    const made = hadamard(coefficients);
    for (let at = 0; at < made.length; at++) this.put(row, column, at, predicted + (made[at] as number));
    for (const [at, place] of ZIGZAG.entries()) this.levels[at] = coefficients[place] as number;
    return this.levels;
  }

  /** The same for chroma, whose cells are predicted individually. */
  predictChroma(row: number, column: number): Int32Array {
    const predicted = this.chromaPredictions(row, column);
    const residual = this.wanted.map((value, at) => value - (predicted[at] as number));
    const coefficients = hadamardOfFour(residual).map((sum) => Math.round(sum / 8));
    const made = hadamardOfFour(coefficients);
    for (let at = 0; at < made.length; at++) {
      this.put(row, column, at, (predicted[at] as number) + 2 * (made[at] as number));
    }
    this.levels.set(coefficients);
    return this.levels;
  }

  /** Section 8.3.4: diagonal cells use the cells above and to the left, the others their own side, if available. */
  private chromaPredictions(row: number, column: number): number[] {
    return [0, 1, 2, 3].map((at) => {
      const x = at % 2;
      const y = at >> 1;
      const top = row > 0 ? this.sumAbove(row, column, x, 1) : null;
      const left = column > 0 ? this.sumBefore(row, column, y, 1) : null;
      if (x === y && top !== null && left !== null) return (top + left + 1) >> 1;
      return (x > y ? (top ?? left) : (left ?? top)) ?? UNKNOWN;
    });
  }

  private sumAbove(row: number, column: number, from: number, count: number): number {
    const start = (row * this.side - 1) * this.width + column * this.side + from;
    let sum = 0;
    for (let at = 0; at < count; at++) sum += this.cells[start + at] as number;
    return sum;
  }

  private sumBefore(row: number, column: number, from: number, count: number): number {
    const start = (row * this.side + from) * this.width + column * this.side - 1;
    let sum = 0;
    for (let at = 0; at < count; at++) sum += this.cells[start + at * this.width] as number;
    return sum;
  }

  private put(row: number, column: number, at: number, value: number): void {
    const x = at % this.side;
    const y = (at - x) / this.side;
    this.cells[(row * this.side + y) * this.width + column * this.side + x] = Math.min(Math.max(value, 0), MOST);
  }
}

/** Section 8.5.10, both ways: but for a factor of 16 it is its own inverse. */
function hadamard(block: Int32Array): Int32Array {
  const halfway = new Int32Array(16);
  const result = new Int32Array(16);
  for (let y = 0; y < 4; y++) {
    for (let x = 0; x < 4; x++) {
      const signs = HADAMARD[x] as readonly number[];
      let sum = 0;
      for (let at = 0; at < 4; at++) sum += (signs[at] as number) * (block[y * 4 + at] as number);
      halfway[y * 4 + x] = sum;
    }
  }
  for (let y = 0; y < 4; y++) {
    const signs = HADAMARD[y] as readonly number[];
    for (let x = 0; x < 4; x++) {
      let sum = 0;
      for (let at = 0; at < 4; at++) sum += (signs[at] as number) * (halfway[at * 4 + x] as number);
      result[y * 4 + x] = sum;
    }
  }
  return result;
}

function hadamardOfFour(block: Int32Array): Int32Array {
  const [a = 0, b = 0, c = 0, d = 0] = block;
  return Int32Array.of(a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d);
}
