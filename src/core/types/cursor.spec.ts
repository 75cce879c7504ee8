import { decodeCursor, encodeCursor } from './cursor';

const ID = '01a1ff72-111f-7e28-92de-ec549cf33a62';
const TIME = '2026-11-21T18:50:28.010875Z';

describe('a cursor', () => {
  it('decodes to the encoded parts', () => {
    expect(decodeCursor(encodeCursor([TIME, ID]), ['time', 'uuid'])).toEqual([TIME, ID]);
    expect(decodeCursor(encodeCursor([42]), ['integer'])).toEqual(['42']);
  });

  it.each([
    '',
    'nonsense',
    encodeCursor([ID, TIME]),
    encodeCursor([TIME]),
    encodeCursor([TIME, ID, 1]),
    encodeCursor(['2026-99-21T18:50:28Z', ID]),
    encodeCursor([TIME, `${ID}'; DROP TABLE organization`]),
    'A'.repeat(201),
  ])('that is forged is refused: %s', (text) => {
    expect(() => decodeCursor(text, ['time', 'uuid'])).toThrow(
      expect.objectContaining({ code: 'validation_failed', param: 'cursor' }),
    );
  });
});
