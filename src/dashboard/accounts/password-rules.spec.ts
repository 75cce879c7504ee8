import { GatewayError } from '../../core/errors/gateway-error';
import { isCommonPassword } from './common-passwords';
import { parseNewPassword } from './password-rules';

function refusalOf(password: string): string | undefined {
  try {
    parseNewPassword(password, 'new_password');
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return `${error.code} ${error.param}`;
  }
}

const REFUSED = 'validation_failed new_password';

describe('parseNewPassword', () => {
  it('requires 8 to 128 characters, counted as code points after normalization', () => {
    expect(refusalOf('kühlung')).toBe(REFUSED);
    expect(refusalOf('kühlunge')).toBeUndefined();
    expect(refusalOf('🐈🐕'.repeat(4))).toBeUndefined();
    expect(refusalOf('🐈🐕'.repeat(64))).toBeUndefined();
    expect(refusalOf(`${'🐈🐕'.repeat(64)}🐈`)).toBe(REFUSED);
    // Eight code points, of which NFKC makes four.
    expect(refusalOf('u\u0308'.repeat(4))).toBe(REFUSED);
  });

  it('requires no particular kinds of characters', () => {
    expect(refusalOf('correct horse battery staple')).toBeUndefined();
    expect(refusalOf('    a    ')).toBeUndefined();
  });

  it('refuses one repeated character', () => {
    const repeated = ['x'.repeat(8), '7'.repeat(128), 'xXxXxXxX', '🐈'.repeat(9), ' '.repeat(12)];
    expect(repeated.filter((password) => refusalOf(password) !== REFUSED)).toEqual([]);
    expect(refusalOf('xxxxxxxy')).toBeUndefined();
  });

  it('refuses common passwords, ignoring case and width', () => {
    const common = ['password', 'PassWord1', '1q2w3e4r', 'iloveyou', 'ｐａｓｓｗｏｒｄ'];
    expect(common.filter((password) => refusalOf(password) !== REFUSED)).toEqual([]);
    expect(isCommonPassword('zxcvbnm123')).toBe(true);
    expect(isCommonPassword('zx cvbnm 123')).toBe(false);
  });

  it('refuses NUL and lone surrogates', () => {
    expect(refusalOf('a nul \0 in it')).toBe(REFUSED);
    expect(refusalOf('half a \ud800 pair')).toBe(REFUSED);
  });
});
