import { TextPositions } from './text-positions';

/** The positions computed from the whole text, at the start of each character. */
function expected(text: string): [number, number][] {
  let bytes = 0;
  let units = 0;
  const positions: [number, number][] = [];
  for (const character of text) {
    positions.push([bytes, units]);
    bytes += Buffer.byteLength(character);
    units += character.length;
  }
  return [...positions, [bytes, units], [bytes + 5, units]];
}

describe('TextPositions', () => {
  it.each(['', 'plain', 'Größe: 5 m.', '日本は3776m、', 'a😀b👩‍👩‍👧c', 'é'.repeat(500)])(
    'finds every character of %j, however it is split',
    (text) => {
      const characters = [...text];
      for (const size of [1, 3, 1_000]) {
        const positions = new TextPositions();
        for (let at = 0; at < characters.length; at += size) positions.add(characters.slice(at, at + size).join(''));
        expect(positions.length).toBe(text.length);
        expect(expected(text).map(([offset]) => [offset, positions.at(offset)])).toEqual(expected(text));
      }
    },
  );

  it('rounds an offset within a character down', () => {
    expect(new TextPositions().add('x日').at(3)).toBe(1);
  });

  it('keeps a bounded number of runs, and does not guess the positions after them', () => {
    const positions = new TextPositions();
    for (let at = 0; at < 100_000; at++) positions.add('aé');
    const { runs } = positions as unknown as { runs: number[] };
    expect(runs.length).toBe(3_072 * 3);
    expect(positions.at(3 * 1_000)).toBe(2 * 1_000);
    expect(positions.at(3 * 50_000)).toBeNull();
    expect(positions.at(300_000)).toBe(200_000);
    expect(positions.length).toBe(200_000);
  });

  it('keeps a single run for a long ASCII text', () => {
    const positions = new TextPositions();
    for (let at = 0; at < 10_000; at++) positions.add('word '.repeat(100));
    expect((positions as unknown as { runs: number[] }).runs).toEqual([0, 0, 1]);
  });
});
