import { CELL_COLUMNS, CELL_ROWS, graphemesOf } from './canvas';

/** Text broken into lines that fit. */
export interface TextBlock {
  readonly lines: readonly string[];
  /** Pixels per dot. */
  readonly scale: number;
}

const ELLIPSIS = '...';
/** Pixels per dot: the smallest readable size, and the largest as a share of the longer side. */
const SMALLEST = 1;
const LARGEST_SHARE = 1 / 50;

/** The largest text that fits into a box, given in pixels; truncated if even the smallest size does not fit. */
export function fitText(text: string, width: number, height: number, smallest = SMALLEST): TextBlock {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const largest = Math.max(smallest, Math.round(Math.max(width, height) * LARGEST_SHARE));
  for (let scale = largest; scale > smallest; scale--) {
    const lines = wrap(words, columnsIn(width, scale));
    if (lines.length <= rowsIn(height, scale) && words.every((word) => word.length <= columnsIn(width, scale))) {
      return { lines, scale };
    }
  }
  const lines = wrap(words, columnsIn(width, smallest));
  const rows = rowsIn(height, smallest);
  if (lines.length <= rows) return { lines, scale: smallest };
  const kept = lines.slice(0, rows);
  const last = graphemesOf(kept.pop() ?? '').slice(0, columnsIn(width, smallest) - ELLIPSIS.length);
  return { lines: [...kept, last.join('') + ELLIPSIS], scale: smallest };
}

function columnsIn(width: number, scale: number): number {
  return Math.max(1, Math.floor(width / (CELL_COLUMNS * scale)));
}

function rowsIn(height: number, scale: number): number {
  return Math.max(1, Math.floor(height / (CELL_ROWS * scale)));
}

/** Words that are longer than a line are broken. */
function wrap(words: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  let length = 0;
  for (const word of words) {
    for (const [index, piece] of piecesOf(word, columns).entries()) {
      const pieceLength = graphemesOf(piece).length;
      if (line !== '' && (index > 0 || length + 1 + pieceLength > columns)) {
        lines.push(line);
        line = '';
        length = 0;
      }
      line = line === '' ? piece : `${line} ${piece}`;
      length += pieceLength + (length > 0 ? 1 : 0);
    }
  }
  return line === '' ? lines : [...lines, line];
}

function piecesOf(word: string, columns: number): string[] {
  if (word.length <= columns) return [word];
  const letters = graphemesOf(word);
  return Array.from({ length: Math.ceil(letters.length / columns) }, (_empty, at) =>
    letters.slice(at * columns, (at + 1) * columns).join(''),
  );
}
