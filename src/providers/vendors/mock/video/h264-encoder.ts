import type { Canvas } from '../picture/canvas';
import { BitWriter } from './bit-writer';
import { writeBlock } from './cavlc';
import { Plane } from './plane';

/** Pixels of a macroblock, the unit of coding, and of a cell, the smallest unit of uniform color. */
const MACROBLOCK = 16;
export const CELL = 4;
const CELLS = MACROBLOCK / CELL;

/** At this quantizer a coefficient of one is one step of brightness, and two of color. */
const QUANTIZER = 28;
const PROFILE = 66;
/** Also decodable as Main: together Constrained Baseline, which all players support. */
const CONSTRAINTS = 0xc0;
const FRAME_NUMBER_BITS = 8;
const PARAMETER_SETS = { sequence: 0x67, picture: 0x68 } as const;
const KEY_SLICE = 0x65;
const DELTA_SLICE = 0x41;
const BT709 = 1;
/** Prediction 2 (mean of the neighbours), without and with color. */
const INTRA_GRAY = 3;
const INTRA_COLOR = 7;
/** Types of macroblocks that are predicted from other frames come first in a delta slice. */
const DELTA_TYPES = 5;

/** Data that players need before the first frame. */
export interface StreamDescription {
  /** As RFC 6381 names it. */
  readonly codec: string;
  readonly parameterSets: { readonly sequence: Buffer; readonly picture: Buffer };
}

/**
 * H.264 for drawings: pictures of cells of 4 x 4 pixels of one color each, coded as the mean of their neighbours and
 * the coarsest coefficients only (ITU-T H.264, Constrained Baseline). Unchanged macroblocks are skipped.
 */
export class H264Encoder {
  readonly columns: number;
  readonly rows: number;
  private readonly luma: Plane;
  private readonly blue: Plane;
  private readonly red: Plane;
  private readonly previous: Uint32Array;
  private frameNumber = 0;
  private keyFrames = 0;

  /** Pixels; even numbers. */
  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {
    this.columns = Math.ceil(width / MACROBLOCK);
    this.rows = Math.ceil(height / MACROBLOCK);
    this.luma = new Plane(this.columns, this.rows, CELLS);
    this.blue = new Plane(this.columns, this.rows, CELLS / 2);
    this.red = new Plane(this.columns, this.rows, CELLS / 2);
    this.previous = new Uint32Array(this.columns * this.rows * CELLS * CELLS);
  }

  describe(): StreamDescription {
    const level = this.columns * this.rows <= 8192 ? 40 : 51;
    const hex = [PROFILE, CONSTRAINTS, level].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return {
      codec: `avc1.${hex}`,
      parameterSets: { sequence: this.sequenceParameters(level), picture: pictureParameters() },
    };
  }

  /**
   * One frame, as one unit.
   * @param cells As large as all macroblocks together, one pixel per cell.
   * @param isKey Whether players may start here.
   */
  encode(cells: Canvas, isKey: boolean): Buffer {
    const writer = new BitWriter();
    this.frameNumber = isKey ? 0 : (this.frameNumber + 1) % 2 ** FRAME_NUMBER_BITS;
    this.writeSliceHeader(writer, isKey);
    let skipped = 0;
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        if (!isKey && !this.hasChanged(cells, row, column)) {
          skipped += 1;
          continue;
        }
        if (!isKey) writer.writeUnsigned(skipped);
        skipped = 0;
        this.writeMacroblock(writer, cells, row, column, isKey);
      }
    }
    if (skipped > 0) writer.writeUnsigned(skipped);
    this.previous.set(cells.pixels);
    return writer.toUnit(isKey ? KEY_SLICE : DELTA_SLICE);
  }

  private hasChanged(cells: Canvas, row: number, column: number): boolean {
    const { pixels, width } = cells;
    for (let line = row * CELLS; line < (row + 1) * CELLS; line++) {
      const start = line * width + column * CELLS;
      for (let at = start; at < start + CELLS; at++) if (pixels[at] !== this.previous[at]) return true;
    }
    return false;
  }

  private writeMacroblock(writer: BitWriter, cells: Canvas, row: number, column: number, isKey: boolean): void {
    const { pixels, width } = cells;
    for (let y = 0; y < CELLS; y++) {
      const start = (row * CELLS + y) * width + column * CELLS;
      for (let x = 0; x < CELLS; x++) this.luma.wanted[y * CELLS + x] = lumaOf(pixels[start + x] as number);
    }
    for (let y = 0; y < CELLS / 2; y++) {
      for (let x = 0; x < CELLS / 2; x++) {
        const at = (row * CELLS + 2 * y) * width + column * CELLS + 2 * x;
        const four = [pixels[at], pixels[at + 1], pixels[at + width], pixels[at + width + 1]] as number[];
        this.blue.wanted[y * 2 + x] = mean(four, blueOf);
        this.red.wanted[y * 2 + x] = mean(four, redOf);
      }
    }
    const luma = this.luma.predictLuma(row, column);
    const blue = this.blue.predictChroma(row, column);
    const red = this.red.predictChroma(row, column);
    const hasColor = blue.some((level) => level !== 0) || red.some((level) => level !== 0);
    writer.writeUnsigned((isKey ? 0 : DELTA_TYPES) + (hasColor ? INTRA_COLOR : INTRA_GRAY));
    writer.writeUnsigned(0);
    writer.writeSigned(0);
    writeBlock(writer, luma);
    if (hasColor) {
      writeBlock(writer, blue);
      writeBlock(writer, red);
    }
  }

  /** Section 7.3.3. */
  private writeSliceHeader(writer: BitWriter, isKey: boolean): void {
    writer.writeUnsigned(0);
    writer.writeUnsigned(isKey ? 7 : 5);
    writer.writeUnsigned(0);
    writer.write(this.frameNumber, FRAME_NUMBER_BITS);
    if (isKey) {
      // Consecutive key frames must differ in this.
      writer.writeUnsigned(this.keyFrames++ % 2);
      writer.write(0, 2);
    } else {
      writer.write(0, 3);
    }
    writer.writeSigned(0);
    // No deblocking: the picture consists of sharp edges.
    writer.writeUnsigned(1);
  }

  /** Section 7.3.2.1. */
  private sequenceParameters(level: number): Buffer {
    const writer = new BitWriter();
    for (const byte of [PROFILE, CONSTRAINTS, level]) writer.write(byte, 8);
    writer.writeUnsigned(0);
    writer.writeUnsigned(FRAME_NUMBER_BITS - 4);
    // Frames are shown in the order in which they come.
    writer.writeUnsigned(2);
    writer.writeUnsigned(1);
    writer.flag(false);
    writer.writeUnsigned(this.columns - 1);
    writer.writeUnsigned(this.rows - 1);
    writer.flag(true);
    writer.flag(true);
    writer.flag(true);
    for (const surplus of [0, this.columns * MACROBLOCK - this.width, 0, this.rows * MACROBLOCK - this.height]) {
      writer.writeUnsigned(surplus / 2);
    }
    writer.flag(true);
    writer.write(0, 2);
    // Video of no special kind, in the usual range of brightness, with the colors of BT.709.
    writer.flag(true);
    writer.write(5, 3);
    writer.flag(false);
    writer.flag(true);
    for (let at = 0; at < 3; at++) writer.write(BT709, 8);
    writer.write(0, 6);
    return writer.toUnit(PARAMETER_SETS.sequence);
  }
}

/** Section 7.3.2.2. */
function pictureParameters(): Buffer {
  const writer = new BitWriter();
  writer.writeUnsigned(0);
  writer.writeUnsigned(0);
  writer.write(0, 2);
  for (let at = 0; at < 3; at++) writer.writeUnsigned(0);
  writer.write(0, 3);
  writer.writeSigned(QUANTIZER - 26);
  writer.writeSigned(0);
  writer.writeSigned(0);
  // Slices control deblocking themselves.
  writer.write(0b100, 3);
  return writer.toUnit(PARAMETER_SETS.picture);
}

/** BT.709 in the range of 16 to 235 or 240. */
function lumaOf(color: number): number {
  return Math.round(16 + (47 * (color >> 16) + 157 * ((color >> 8) & 0xff) + 16 * (color & 0xff)) / 256);
}

function blueOf(color: number): number {
  return 128 + (-26 * (color >> 16) - 87 * ((color >> 8) & 0xff) + 112 * (color & 0xff)) / 256;
}

function redOf(color: number): number {
  return 128 + (112 * (color >> 16) - 102 * ((color >> 8) & 0xff) - 10 * (color & 0xff)) / 256;
}

function mean(colors: readonly number[], channelOf: (color: number) => number): number {
  return Math.round(colors.reduce((sum, color) => sum + channelOf(color), 0) / colors.length);
}
