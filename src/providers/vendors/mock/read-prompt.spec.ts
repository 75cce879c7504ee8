import { readRequestedLength } from './read-prompt';

describe('readRequestedLength', () => {
  it.each([
    ['Explain gravity in one sentence.', 'sentence', 1],
    ['Explain gravity in a single sentence.', 'sentence', 1],
    ['Tell me in 5 words', 'word', 5],
    ['in exactly 20 words please', 'word', 20],
    ['Use fewer than 20 words.', 'word', 19],
    ['Write Two Paragraphs about tea', 'paragraph', 2],
    ['a 3-sentence answer', 'sentence', 3],
    ['Give me 4 bullet points', 'bullet', 4],
    ['in 0 words', 'word', 1],
    ['in 999999 words', 'word', 2000],
  ])('reads %j', (prompt, unit, count) => {
    expect(readRequestedLength(prompt)).toEqual({ unit, count });
  });

  it.each(['What is a word?', 'I have 3 cats', ''])('finds no length in %j', (prompt) => {
    expect(readRequestedLength(prompt)).toBeNull();
  });
});
