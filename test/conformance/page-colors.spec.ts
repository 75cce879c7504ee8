import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const css = readFileSync(join(__dirname, '../../src/web/styles.css'), 'utf8');

/** Colours by token: [light, dark]. */
const COLORS = new Map(
  [...css.matchAll(/--color-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, [light, dark]] as const,
  ),
);

const TEXT = 4.5;
const GRAPHIC = 3;

/** Pairs that appear on pages: foreground, background, least contrast of WCAG 2.2 AA. */
const PAIRS: ReadonlyArray<readonly [string, string, number]> = [
  ...['canvas', 'surface', 'sunken'].flatMap((background) =>
    ['ink', 'muted', 'accent', 'accent-strong', 'good', 'warn', 'bad'].map(
      (foreground) => [foreground, background, TEXT] as const,
    ),
  ),
  ['accent-strong', 'accent-soft', TEXT],
  ['ink', 'accent-soft', TEXT],
  ['on-accent', 'accent', TEXT],
  ['on-accent', 'accent-strong', TEXT],
  ['good', 'good-soft', TEXT],
  ['warn', 'warn-soft', TEXT],
  ['bad', 'bad-soft', TEXT],
  ['on-bad', 'bad', TEXT],
  ['edge', 'surface', GRAPHIC],
  ['edge', 'canvas', GRAPHIC],
  ...[1, 2, 3, 4, 5, 6, 7, 8, 'other'].map((series) => [`series-${series}`, 'surface', GRAPHIC] as const),
];

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((left, right) => right - left);
  return (light + 0.05) / (dark + 0.05);
}

describe('the colours of the pages', () => {
  it.each(PAIRS)('%s on %s has enough contrast, light and dark', (foreground, background, least) => {
    for (const theme of [0, 1]) {
      const [front, back] = [COLORS.get(foreground)?.[theme], COLORS.get(background)?.[theme]];
      expect(contrast(front ?? '', back ?? '')).toBeGreaterThanOrEqual(least);
    }
  });
});
