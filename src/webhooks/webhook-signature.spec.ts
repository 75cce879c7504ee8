import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { makeWebhookSecret, signatureHeaders } from './webhook-signature';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

it('creates unique secrets of 32 random bytes', () => {
  const secrets = new Set(Array.from({ length: 100 }, makeWebhookSecret));
  expect(secrets.size).toBe(100);
  for (const secret of secrets) {
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  }
});

it('matches signatures computed with openssl', () => {
  const message = { id: 'delivery', timestamp: 1_800_000_000, body: Buffer.from('{"event":"job.completed"}') };
  expect(signatureHeaders(message, SECRET)).toEqual({
    // openssl dgst -sha256 -hmac <the secret>; then over id.timestamp.body with -macopt hexkey:<its bytes>.
    'x-llm-signature': 'sha256=f97183a9f4c523ae888ec0b6cbb95e410426ee4e3927eeee32ed115f44d92ae4',
    'webhook-id': 'delivery',
    'webhook-timestamp': '1800000000',
    'webhook-signature': 'v1,8sLlwD10UuJvIfFqA1+PF2ZrbXUcuXnwAABHsW5NGOw=',
  });
});

it.each(['{}', '{"text":"é \u{1f3b5} \\u0000"}', `{"long":"${'x'.repeat(100_000)}"}`])(
  'is accepted by the Standard Webhooks library for exactly these bytes: %.40s',
  (text) => {
    const secret = makeWebhookSecret();
    const body = Buffer.from(text);
    const headers = signatureHeaders({ id: 'delivery', timestamp: Math.floor(Date.now() / 1_000), body }, secret);
    expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text));
    expect(headers['x-llm-signature']).toBe(`sha256=${createHmac('sha256', secret).update(text).digest('hex')}`);
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow('No matching signature');
    expect(() => new Webhook(makeWebhookSecret()).verify(text, headers)).toThrow('No matching signature');
  },
);
