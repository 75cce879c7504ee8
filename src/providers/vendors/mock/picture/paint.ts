import { hashText, seededNumber } from '../random';
import { Canvas, CELL_COLUMNS, CELL_ROWS, graphemesOf, hslColor, mix } from './canvas';
import { fitText } from './text-block';

const WHITE = 0xffffff;
const BUBBLES = 9;
/** Share of the smaller side: margin, and pixels per dot. */
const MARGIN_SHARE = 0.07;
const FOOTER_SHARE = 1 / 400;

/** A picture with the prompt as text on a generated background. The same for the same prompt and seed. */
export interface Picture {
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly seed: number;
  /** Lines of small print at the bottom. */
  readonly captions: readonly string[];
}

export function paint({ prompt, width, height, seed, captions }: Picture): Canvas {
  const canvas = new Canvas(width, height);
  paintBackground(canvas, seed ^ hashText(prompt));
  const margin = Math.round(Math.min(width, height) * MARGIN_SHARE);
  const footerScale = Math.max(1, Math.round(Math.min(width, height) * FOOTER_SHARE));
  const lineHeight = CELL_ROWS * footerScale;
  const footerTop = height - margin - captions.length * lineHeight;
  drawCentered(canvas, prompt, margin, footerTop - margin);
  for (const [index, line] of captions.entries()) {
    drawShadowed(canvas, line, margin, footerTop + index * lineHeight, footerScale);
  }
  return canvas;
}

/** A gradient with discs in it; all of its colors are dark enough for white text. */
export function paintBackground(canvas: Canvas, seed: number): void {
  const { width, height } = canvas;
  const random = (index: number) => seededNumber(seed + index);
  const hue = random(0);
  const top = hslColor(hue, 0.55, 0.34);
  const bottom = hslColor((hue + 0.08 + random(1) * 0.25) % 1, 0.6, 0.22);
  canvas.fillGradient(top, bottom);
  for (let bubble = 0; bubble < BUBBLES; bubble++) {
    const at = 2 + bubble * 4;
    const y = random(at + 1) * height;
    const under = mix(top, bottom, y / height);
    const color = mix(under, hslColor((hue + random(at + 3) * 0.3) % 1, 0.7, 0.55), 0.35);
    canvas.fillCircle(
      random(at) * width,
      y,
      Math.round(Math.min(width, height) * (0.03 + random(at + 2) * 0.14)),
      color,
    );
  }
}

function drawCentered(canvas: Canvas, text: string, margin: number, bottom: number): void {
  const { lines, scale } = fitText(text, canvas.width - 2 * margin, bottom - margin);
  let top = Math.round((margin + bottom - lines.length * CELL_ROWS * scale) / 2);
  for (const line of lines) {
    const lineWidth = graphemesOf(line).length * CELL_COLUMNS * scale;
    drawShadowed(canvas, line, Math.round((canvas.width - lineWidth) / 2), top, scale);
    top += CELL_ROWS * scale;
  }
}

function drawShadowed(canvas: Canvas, text: string, left: number, top: number, scale: number): void {
  canvas.drawText(text, left + Math.ceil(scale / 3), top + Math.ceil(scale / 3), scale, 0);
  canvas.drawText(text, left, top, scale, WHITE);
}
