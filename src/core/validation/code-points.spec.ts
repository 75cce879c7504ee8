import * as fc from 'fast-check';
import { compileValidator } from './valid-body.pipe';
import { CodePointLength, countCodePoints } from './code-points';

class Dto {
  @CodePointLength(2, 4)
  text!: string;
}

const passes = (text: unknown): boolean => compileValidator(Dto)({ text }).length === 0;

describe('CodePointLength', () => {
  it.each([
    ['a', false],
    ['ab', true],
    ['abcd', true],
    ['abcde', false],
    ['😀', false],
    ['😀😀', true],
    ['😀😀😀😀', true],
    ['😀😀😀😀😀', false],
    ['❤\uFE0F❤\uFE0F', true],
    ['❤\uFE0F❤\uFE0F❤', false],
    ['\uD83D\uD83D', true],
    [7, false],
    [undefined, false],
  ])('of %j is %s for 2 to 4', (text, expected) => {
    expect(passes(text)).toBe(expected);
  });

  it('counts like the spread operator', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (text) => {
        const count = [...text].length;
        expect(countCodePoints(text)).toBe(count);
        expect(passes(text)).toBe(count >= 2 && count <= 4);
      }),
    );
  });
});
