import { GatewayError } from '../../core/errors/gateway-error';
import { readIdempotencyKey } from './idempotency.interceptor';

function refusal(header: string | readonly string[] | undefined, required = false): object {
  try {
    readIdempotencyKey(header, required);
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param };
  }
  throw new Error('the header was accepted');
}

describe('the Idempotency-Key header', () => {
  it.each(['a', '!~', 'x'.repeat(255), '8b4c1f0f-1a2b-3c4d'])('takes %s', (key) => {
    expect(readIdempotencyKey(key, false)).toBe(key);
    expect(readIdempotencyKey(key, true)).toBe(key);
  });

  it.each([undefined, ''])('treats %p as no key', (header) => {
    expect(readIdempotencyKey(header, false)).toBeNull();
    expect(refusal(header, true)).toEqual({ code: 'idempotency_key_required', param: 'Idempotency-Key' });
  });

  it.each([
    ['256 characters', 'x'.repeat(256)],
    ['a space', 'a b'],
    ['two lines of one key, joined by Node', 'a, a'],
    ['two empty lines, joined by Node', ', '],
    ['a control character', 'a\u0007'],
    ['DEL', 'a\u007f'],
    ['Latin-1', 'caf\u00e9'],
    ['a list', ['a']],
  ])('refuses %s', (_title, header) => {
    expect(refusal(header)).toEqual({ code: 'validation_failed', param: 'Idempotency-Key' });
  });
});
