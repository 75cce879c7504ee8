import { csvLine } from './csv';

describe('a line of CSV', () => {
  it('quotes what has to be quoted (RFC 4180), and nothing else', () => {
    expect(csvLine(['a', 'b,c', 'd"e', 'f\ng', '', null, 1.5, -7, 9n])).toBe('a,"b,c","d""e","f\ng",,,1.5,-7,9\r\n');
  });

  it.each(['=1+1', '+1', '-1', '@x', '\tx', '\rx'])('shows %j instead of letting a spreadsheet run it', (text) => {
    expect(csvLine([text])).toMatch(/^"?'/);
  });
});
