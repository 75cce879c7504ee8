import { GatewayError } from '../common/errors/gateway-error';
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

describe('a new password', () => {
  it('has 8 to 128 characters, counted as code points of its normal form', () => {
    expect(refusalOf('kühlung')).toBe(REFUSED);
    expect(refusalOf('kühlunge')).toBeUndefined();
    expect(refusalOf('🐈'.repeat(8))).toBeUndefined();
    expect(refusalOf('🐈'.repeat(128))).toBeUndefined();
    expect(refusalOf('🐈'.repeat(129))).toBe(REFUSED);
    // Eight code points, of which NFKC makes four.
    expect(refusalOf('u\u0308'.repeat(4))).toBe(REFUSED);
  });

  it('needs no particular kinds of characters', () => {
    expect(refusalOf('correct horse battery staple')).toBeUndefined();
    expect(refusalOf('    a    ')).toBeUndefined();
  });

  it('is none of those that everybody tries first, however their letters are written', () => {
    const common = ['password', 'PassWord1', '1q2w3e4r', 'iloveyou', 'ｐａｓｓｗｏｒｄ'];
    expect(common.filter((password) => refusalOf(password) !== REFUSED)).toEqual([]);
    expect(isCommonPassword('zxcvbnm123')).toBe(true);
    expect(isCommonPassword('zx cvbnm 123')).toBe(false);
  });

  it('holds nothing that no keyboard writes', () => {
    expect(refusalOf('a nul \0 in it')).toBe(REFUSED);
    expect(refusalOf('half a \ud800 pair')).toBe(REFUSED);
  });
});
