import { GLYPH_COLUMNS, GLYPH_ROWS, type Glyph, glyphOf } from './font';

/** `0xRRGGBB`. */
export type Color = number;

/** Dots from one character to the next, and from one line to the next. */
export const CELL_COLUMNS = GLYPH_COLUMNS + 1;
export const CELL_ROWS = GLYPH_ROWS + 4;
/** Dots reserved for accents above a letter. */
const ACCENT_ROWS = 2;

/** A picture in memory, one number per pixel, row by row. Drawing is clipped at its edges. */
export class Canvas {
  readonly pixels: Uint32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.pixels = new Uint32Array(width * height);
  }

  fillRect(left: number, top: number, width: number, height: number, color: Color): void {
    const from = clamp(left, this.width);
    const to = clamp(left + width, this.width);
    const bottom = clamp(top + height, this.height);
    for (let row = clamp(top, this.height); row < bottom; row++) {
      this.pixels.fill(color, row * this.width + from, row * this.width + to);
    }
  }

  fillCircle(centerX: number, centerY: number, radius: number, color: Color): void {
    for (let offset = -radius; offset <= radius; offset++) {
      const half = Math.floor(Math.sqrt((radius + 0.5) ** 2 - offset * offset));
      this.fillRect(Math.round(centerX - half), Math.round(centerY + offset), 2 * half + 1, 1, color);
    }
  }

  /** A vertical gradient from one color to the other. */
  fillGradient(topColor: Color, bottomColor: Color): void {
    for (let row = 0; row < this.height; row++) {
      this.fillRect(0, row, this.width, 1, mix(topColor, bottomColor, row / this.height));
    }
  }

  /**
   * One line of text.
   * @param scale Pixels per dot.
   */
  drawText(text: string, left: number, top: number, scale: number, color: Color): void {
    let x = left;
    for (const grapheme of graphemesOf(text)) {
      this.drawGlyph(glyphOf(grapheme), x, top + ACCENT_ROWS * scale, scale, color);
      x += CELL_COLUMNS * scale;
    }
  }

  private drawGlyph(glyph: Glyph, left: number, top: number, scale: number, color: Color): void {
    this.drawDots(glyph.columns, left, top, scale, color);
    for (const { columns, row } of glyph.marks) this.drawDots(columns, left, top + row * scale, scale, color);
  }

  private drawDots(columns: readonly number[], left: number, top: number, scale: number, color: Color): void {
    for (const [column, dots] of columns.entries()) {
      for (let row = 0; row < GLYPH_ROWS; row++) {
        if ((dots >> row) & 1) this.fillRect(left + column * scale, top + row * scale, scale, scale, color);
      }
    }
  }
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The characters of a text as readers count them. */
export function graphemesOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** @param share 0: the first color; 1: the second one. */
export function mix(first: Color, second: Color, share: number): Color {
  const channel = (shift: number) => {
    const from = (first >> shift) & 0xff;
    return Math.round(from + (((second >> shift) & 0xff) - from) * share) << shift;
  };
  return channel(16) | channel(8) | channel(0);
}

/** @param hue 0 to 1, once around the circle of colors. Saturation and lightness are 0 to 1. */
export function hslColor(hue: number, saturation: number, lightness: number): Color {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const place = (offset + hue * 12) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1))));
  };
  return (channel(0) << 16) | (channel(8) << 8) | channel(4);
}

function clamp(value: number, most: number): number {
  return Math.min(Math.max(Math.round(value), 0), most);
}
