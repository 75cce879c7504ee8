import { assert, property, string } from 'fast-check';
import { headOf, tokenize } from './conversation';

const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);

describe('tokenize', () => {
  it('loses nothing and never splits a character, for any text', () => {
    assert(
      property(string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const tokens = tokenize(text);
        expect(tokens.join('')).toBe(text);
        expect(tokens.every(isWellFormed)).toBe(true);
      }),
    );
  });

  it('keeps joined emoji, flags and skin tones whole', () => {
    expect(tokenize('👨‍👩‍👧‍👦 🇫🇷🇯🇵 👍🏽')).toEqual(['👨‍👩‍👧‍👦', ' 🇫🇷', '🇯🇵', ' 👍🏽']);
  });

  it('counts a CJK character or a short word as one', () => {
    expect(tokenize('東京 is big, yes')).toEqual(['東', '京', ' is', ' big', ',', ' yes']);
  });
});

describe('headOf', () => {
  it('drops half of a surrogate pair', () => {
    expect(headOf('ab😀', 3)).toBe('ab');
    expect(headOf('ab😀', 4)).toBe('ab😀');
  });
});
