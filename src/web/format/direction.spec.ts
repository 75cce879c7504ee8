import { isolated } from './direction';

describe('a name within a line', () => {
  it('is isolated when it is written from right to left, and stays as it is otherwise', () => {
    expect(isolated('مفتاح')).toBe('\u2068مفتاح\u2069');
    expect(isolated('key של דמו')).toBe('\u2068key של דמו\u2069');
    expect(isolated('production 2')).toBe('production 2');
  });
});
