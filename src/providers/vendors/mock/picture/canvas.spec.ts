import { Canvas, CELL_ROWS, graphemesOf, hslColor, mix } from './canvas';
import { fitText } from './text-block';

/** The dots of a text, each as a hash sign. */
function dotsOf(text: string): string[] {
  const canvas = new Canvas(6 * graphemesOf(text).length, CELL_ROWS);
  canvas.drawText(text, 0, 0, 1, 0xffffff);
  return Array.from({ length: CELL_ROWS }, (_row, row) =>
    Array.from(canvas.pixels.subarray(row * canvas.width, (row + 1) * canvas.width), (color) => (color > 0 ? '#' : ' '))
      .join('')
      .trimEnd(),
  );
}

describe('drawText', () => {
  it('draws readable letters', () => {
    expect(dotsOf('Rag')).toEqual([
      '',
      '',
      '####',
      '#   #',
      '#   #  ###   ####',
      '####      # #   #',
      '# #    #### #   #',
      '#  #  #   #  ####',
      '#   #  ####     #',
      '             ###',
      '',
      '',
    ]);
  });

  it('puts accents above and below letters, and removes the dot under another mark', () => {
    expect(dotsOf('Ç')).not.toEqual(dotsOf('C'));
    expect(dotsOf('É')[0]?.trim()).toBe('#');
    expect(dotsOf('í')).not.toEqual(dotsOf('i'));
    expect(dotsOf('e\u0301')).toEqual(dotsOf('é'));
    expect(dotsOf('ı')[2]).toBe('');
  });

  it('draws one box for a missing character of any number of code points', () => {
    expect(dotsOf('漢')).toEqual(dotsOf('👩‍👩‍👧'));
    expect(dotsOf('漢')[2]).toBe('#####');
  });

  it('has a distinct glyph for every printable ASCII character', () => {
    const ascii = Array.from({ length: 94 }, (_empty, at) => String.fromCharCode(0x21 + at));
    expect(new Set(ascii.map((character) => dotsOf(character).join('\n'))).size).toBe(94);
  });
});

describe('Canvas', () => {
  it('clips at its edges', () => {
    const canvas = new Canvas(3, 2);
    canvas.fillRect(-5, -5, 7, 6, 1);
    canvas.fillCircle(9, 9, 2, 1);
    canvas.drawText('W', 2, 1, 4, 0);
    expect([...canvas.pixels]).toEqual([1, 1, 0, 0, 0, 0]);
  });

  it('mixes colors by channel', () => {
    expect(mix(0x000000, 0xff8040, 0.5)).toBe(0x804020);
    expect(hslColor(0, 1, 0.5)).toBe(0xff0000);
    expect(hslColor(1 / 3, 1, 0.5)).toBe(0x00ff00);
  });
});

describe('fitText', () => {
  it('writes short texts large and long ones small', () => {
    expect(fitText('A cat', 900, 900).scale).toBeGreaterThan(fitText('A cat '.repeat(50), 900, 900).scale);
  });

  it('keeps all words, in lines that fit', () => {
    const { lines, scale } = fitText('The quick brown fox jumps over the lazy dog', 200, 200);
    expect(lines.join(' ')).toBe('The quick brown fox jumps over the lazy dog');
    expect(Math.max(...lines.map((line) => line.length)) * 6 * scale).toBeLessThanOrEqual(200);
    expect(lines.length * CELL_ROWS * scale).toBeLessThanOrEqual(200);
  });

  it('breaks words that are longer than a line, and marks truncated text', () => {
    const { lines } = fitText('x'.repeat(500), 60, 48);
    expect(lines).toEqual(['xxxxxxxxxx', 'xxxxxxxxxx', 'xxxxxxxxxx', 'xxxxxxx...']);
  });

  it('returns no lines for an empty text', () => {
    expect(fitText('  \n ', 100, 100).lines).toEqual([]);
  });
});
