import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { readFalKeys, type SignedCallback, verifyFalCallback } from './fal-callback';

const NOW_MS = 1_790_000_000_000;
const [ours, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const document = Buffer.from(
  JSON.stringify({
    keys: [{ kty: 'RSA', n: 'x' }, { kty: 'OKP', crv: 'Ed25519', x: '!' }, ours.publicKey.export({ format: 'jwk' })],
  }),
);
const keys = readFalKeys(document);

function callback(body = '{"status":"OK"}', ageSeconds = 0, key = ours.privateKey): SignedCallback {
  const timestamp = String(NOW_MS / 1_000 - ageSeconds);
  const message = ['request-1', 'user-1', timestamp, createHash('sha256').update(body).digest('hex')].join('\n');
  const headers = {
    'x-fal-webhook-request-id': 'request-1',
    'x-fal-webhook-user-id': 'user-1',
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': sign(null, Buffer.from(message), key).toString('hex'),
  };
  return { headers, body: Buffer.from(body), nowMs: NOW_MS };
}

describe('the signature of a callback of fal', () => {
  it('is accepted with the id of its request', () => {
    expect(verifyFalCallback(callback(), keys)).toBe('request-1');
    expect(verifyFalCallback(callback('', 299), keys)).toBe('request-1');
  });

  it.each<[string, SignedCallback]>([
    ['of another key', callback('{}', 0, other.privateKey)],
    ['that is too old', callback('{}', 301)],
    ['of the future', callback('{}', -301)],
    ['of another body', { ...callback(), body: Buffer.from('{}') }],
    ['without headers', { ...callback(), headers: {} }],
    [
      'with a repeated header',
      { ...callback(), headers: { ...callback().headers, 'x-fal-webhook-user-id': ['a', 'b'] } },
    ],
    ['without a time', { ...callback(), headers: { ...callback().headers, 'x-fal-webhook-timestamp': 'soon' } }],
    ['that is not hex', { ...callback(), headers: { ...callback().headers, 'x-fal-webhook-signature': 'zz' } }],
  ])('%s is refused', (_what, signed) => {
    expect(verifyFalCallback(signed, keys)).toBeNull();
  });

  it('needs a key set', () => {
    expect(verifyFalCallback(callback(), readFalKeys(Buffer.from('<html>')))).toBeNull();
  });
});
