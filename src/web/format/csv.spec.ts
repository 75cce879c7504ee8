import { csvLine } from './csv';

it('quotes only the fields that need it (RFC 4180)', () => {
  expect(csvLine(['a', 'b,c', 'd"e', 'f\ng', '', -7, 9n])).toBe('a,"b,c","d""e","f\ng",,-7,9\r\n');
});

it.each(['=1+1', '+1', '-1', '@x', '\tx', '\rx', '\n=1'])('escapes the spreadsheet formula %j', (text) => {
  expect(csvLine([text])).toMatch(/^"?'/);
});
