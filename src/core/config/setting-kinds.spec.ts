import { baseUrl, encryptionKeys, serverUrl } from './setting-kinds';

describe('encryption keys', () => {
  const hexadecimal = 'AB'.repeat(32);
  const base64 = Buffer.from('fb'.repeat(32), 'hex').toString('base64');

  it('are 32 bytes in base64 or hexadecimal, the current key first', () => {
    expect(encryptionKeys.parse(`${base64}, ${hexadecimal}`)).toEqual(['fb'.repeat(32), 'ab'.repeat(32)]);
    expect(encryptionKeys.parse(base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', ''))).toEqual([
      'fb'.repeat(32),
    ]);
  });

  it.each([
    ['one byte too few', 'ab'.repeat(31)],
    ['one byte too many', 'ab'.repeat(33)],
    ['a passphrase', 'correct horse battery staple and some more!'],
    ['nothing after a comma', `${hexadecimal},`],
  ])('are not %s', (_what, text) => {
    expect(encryptionKeys.safeParse(text).success).toBe(false);
  });
});

describe('URLs', () => {
  it.each([' ', '\n', '\r\n'])('lose whitespace around them, which paths and hosts would keep: %j', (space) => {
    const database = 'postgres://user:pass@host:5432/gateway';
    expect(baseUrl.parse(`${space}https://gateway.example.com/${space}`)).toBe('https://gateway.example.com');
    expect(serverUrl('postgres').parse(`${space}${database}${space}`)).toBe(database);
  });
});
