import { hashText, seededNumber } from '../random';
import { Canvas, CELL_COLUMNS, CELL_ROWS, graphemesOf, hslColor } from '../picture/canvas';
import { paintBackground } from '../picture/paint';
import { fitText } from '../picture/text-block';

const WHITE = 0xffffff;
const SHADE = 0x181818;
const MARGIN = 6;
const BAR_HEIGHT = 3;
/** The lowest part of the picture, where the ball is. */
const STAGE_SHARE = 0.3;
const SECONDS_PER_BOUNCE = 1;

/** A film: the prompt in large letters, a ball that bounces from one side to the other, and a progress bar. */
export class Scene {
  private readonly backdrop: Canvas;
  private readonly frame: Canvas;
  private readonly ballColor: number;
  private readonly ballRadius: number;

  /**
   * @param width Visible width; in cells, like all lengths here.
   * @param whole Coded size, which may be slightly larger.
   */
  constructor(
    prompt: string,
    seed: number,
    private readonly width: number,
    private readonly height: number,
    whole: { readonly width: number; readonly height: number },
  ) {
    const hash = seed ^ hashText(prompt);
    this.backdrop = new Canvas(whole.width, whole.height);
    this.frame = new Canvas(whole.width, whole.height);
    paintBackground(this.backdrop, hash);
    this.drawPrompt(prompt);
    this.ballColor = hslColor(seededNumber(hash + 99), 0.85, 0.62);
    this.ballRadius = Math.max(3, Math.round(Math.min(width, height) * 0.05));
  }

  /** The picture at a moment; overwritten by the next one. */
  at(seconds: number, totalSeconds: number): Canvas {
    const { width, height, ballRadius: radius } = this;
    const share = Math.min(1, seconds / totalSeconds);
    const barTop = height - MARGIN - BAR_HEIGHT;
    const floor = barTop - MARGIN - CELL_ROWS - radius;
    const ceiling = height * (1 - STAGE_SHARE) + radius;
    const swing = Math.abs(Math.sin((Math.PI * seconds) / SECONDS_PER_BOUNCE));
    this.frame.pixels.set(this.backdrop.pixels);
    this.frame.fillCircle(
      MARGIN + radius + share * (width - 2 * (MARGIN + radius)),
      floor - swing * Math.max(0, floor - ceiling),
      radius,
      this.ballColor,
    );
    const barWidth = width - 2 * MARGIN;
    this.frame.fillRect(MARGIN, barTop, barWidth, BAR_HEIGHT, SHADE);
    this.frame.fillRect(MARGIN, barTop, share * barWidth, BAR_HEIGHT, WHITE);
    const clock = `${seconds.toFixed(1)} / ${totalSeconds} s`;
    this.frame.drawText(clock, MARGIN, barTop - CELL_ROWS, 1, WHITE);
    return this.frame;
  }

  private drawPrompt(prompt: string): void {
    const bottom = Math.floor(this.height * (1 - STAGE_SHARE));
    const { lines, scale } = fitText(prompt, this.width - 2 * MARGIN, bottom - MARGIN);
    let top = Math.round((MARGIN + bottom - lines.length * CELL_ROWS * scale) / 2);
    for (const line of lines) {
      const left = Math.round((this.width - graphemesOf(line).length * CELL_COLUMNS * scale) / 2);
      this.backdrop.drawText(line, left + scale, top + scale, scale, 0);
      this.backdrop.drawText(line, left, top, scale, WHITE);
      top += CELL_ROWS * scale;
    }
  }
}
