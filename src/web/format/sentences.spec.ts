import { sentenceAt } from './sentences';

describe('the sentences of a growing text', () => {
  const textSoFar = 'It costs $0.25. Really?\n- first item\nAnd the last one is not comp';

  it('come one after the other, each when it is complete', () => {
    const sentences: string[] = [];
    let end = 0;
    for (let next = sentenceAt(textSoFar, end); next !== null; next = sentenceAt(textSoFar, end)) {
      sentences.push(next.sentence);
      ({ end } = next);
    }
    expect(sentences).toEqual(['It costs $0.25.', 'Really?', '- first item']);
    expect(sentenceAt(textSoFar, end)).toBeNull();
  });

  it('take time that grows with their length only', () => {
    expect(sentenceAt('.'.repeat(1_000_000), 0)).toBeNull();
    expect(sentenceAt('a'.repeat(1_000_000), 0)).toBeNull();
  });
});
