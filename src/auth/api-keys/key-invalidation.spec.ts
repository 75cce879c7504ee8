import {
  decodeKeyInvalidation,
  encodeKeyInvalidation,
  KEY_INVALIDATION_CHANNEL,
  publishKeyInvalidation,
  type KeyInvalidation,
} from './key-invalidation';

describe('key invalidation messages', () => {
  it.each<KeyInvalidation>([
    { scope: 'key', keyId: '0199-a' },
    { scope: 'organization', organizationId: '0199-b' },
    { scope: 'all' },
  ])('%j is unchanged after encoding and decoding', (invalidation) => {
    expect(decodeKeyInvalidation(encodeKeyInvalidation(invalidation))).toEqual(invalidation);
  });

  it.each(['', 'nonsense', 'future:thing', ':x'])('treats the unknown message %j as "all"', (message) => {
    expect(decodeKeyInvalidation(message)).toEqual({ scope: 'all' });
  });

  it('publishes on the channel of the listeners', async () => {
    const publish = jest.fn().mockResolvedValue(1);
    await publishKeyInvalidation({ publish }, { scope: 'key', keyId: 'k' });
    expect(publish).toHaveBeenCalledWith(KEY_INVALIDATION_CHANNEL, 'key:k');
  });

  it('does not fail the change when Redis is unavailable', async () => {
    const publish = jest.fn().mockRejectedValue(new Error('connection refused'));
    await expect(publishKeyInvalidation({ publish }, { scope: 'all' })).resolves.toBeUndefined();
  });
});
