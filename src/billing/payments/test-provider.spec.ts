import { TestProvider } from './test-provider';

const order = { purchaseId: 'p', organizationId: 'o', amountMicro: 10_000n };

describe('TestProvider', () => {
  it('reads an event that it signed itself', async () => {
    const provider = new TestProvider('http://127.0.0.1:8080');
    const { rawBody, headers } = provider.pay(order);
    expect((await provider.readEvent(rawBody, headers)).fact).toMatchObject({
      kind: 'paid',
      ...order,
      currency: 'usd',
    });
  });

  it('refuses an event that was modified, signed by another process or not signed', async () => {
    const provider = new TestProvider('http://127.0.0.1:8080');
    const { rawBody, headers } = provider.pay(order);
    const foreign = new TestProvider('http://127.0.0.1:8080').pay(order);
    const changed = Buffer.from(rawBody.toString().replace('10000', '90000'));
    for (const [body, signature] of [
      [changed, headers],
      [foreign.rawBody, foreign.headers],
      [rawBody, {}],
      [rawBody, { 'test-signature': ['a', 'b'] }],
    ] as const) {
      await expect(provider.readEvent(body, signature)).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });
});
