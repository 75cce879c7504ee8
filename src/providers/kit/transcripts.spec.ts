import { toSegments } from './transcripts';

describe('toSegments', () => {
  const wordsOf = (text: string, secondsBetween = 0) =>
    text
      .split(/(?<= )/)
      .map((word, at) => ({ word, start: at * (1 + secondsBetween), end: at * (1 + secondsBetween) + 1 }));
  const textsOf = (...args: Parameters<typeof wordsOf>) => toSegments(wordsOf(...args)).map(({ text }) => text);

  it('ends a segment with a sentence', () => {
    expect(textsOf('Is it? He said "yes." Good…')).toEqual(['Is it?', 'He said "yes."', 'Good…']);
  });

  it('ends a segment at a pause', () => {
    expect(textsOf('one two', 1.5)).toEqual(['one', 'two']);
  });

  it('splits a sentence that is too long for a subtitle', () => {
    const segments = toSegments(wordsOf('word '.repeat(40).trim()));
    expect(segments.map(({ text }) => text.split(' ').length)).toEqual([16, 16, 8]);
    expect(segments.map(({ id, start, end }) => [id, start, end])).toEqual([
      [0, 0, 16],
      [1, 16, 32],
      [2, 32, 40],
    ]);
  });

  it('returns no segments without words', () => {
    expect(toSegments([])).toEqual([]);
  });
});
