import { hasStandardSignature } from './standard-webhook';

/** Test vector of https://docs.svix.com/receiving/verifying-payloads/how-manual. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const callback = {
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': `v1,AAAA v2,${SIGNATURE.slice(3)} ${SIGNATURE}`,
  },
  body: Buffer.from('{"test": 2432232314}'),
  nowMs: 1_614_265_330_000,
};
const withHeader = (name: string, value: string | undefined) => ({
  ...callback,
  headers: { ...callback.headers, [name]: value },
});

describe('a standard webhook signature', () => {
  it('is accepted where one of several fits', () => {
    expect(hasStandardSignature(callback, SECRET)).toBe(true);
    expect(hasStandardSignature({ ...callback, nowMs: callback.nowMs + 299_000 }, SECRET)).toBe(true);
  });

  it.each<[string, Parameters<typeof hasStandardSignature>[0]]>([
    ['another body', { ...callback, body: Buffer.from('{}') }],
    ['an old time', { ...callback, nowMs: callback.nowMs + 301_000 }],
    ['another id', withHeader('webhook-id', 'msg_other')],
    ['no time', withHeader('webhook-timestamp', 'now')],
    ['no signature', withHeader('webhook-signature', undefined)],
    ['another version', withHeader('webhook-signature', SIGNATURE.replace('v1', 'v1a'))],
  ])('is refused with %s', (_what, signed) => {
    expect(hasStandardSignature(signed, SECRET)).toBe(false);
  });

  it('is refused with another secret', () => {
    expect(hasStandardSignature(callback, 'whsec_AAAA')).toBe(false);
  });
});
