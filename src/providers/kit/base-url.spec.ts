import { parseBaseUrl } from './base-url';

describe('parseBaseUrl', () => {
  it.each(['https://api.example.com/v1', 'http://localhost:11434/v1/'])('accepts %s', (value) => {
    expect(parseBaseUrl(value, 'X_BASE_URL').href).toBe(value);
  });

  it.each(['', 'api.example.com', '/v1', 'ftp://host/', 'https://user:secret@host/'])(
    'refuses %j, naming the variable and not the value',
    (value) => {
      expect(() => parseBaseUrl(value, 'X_BASE_URL')).toThrow(/^X_BASE_URL (?!.*secret)/);
    },
  );
});
