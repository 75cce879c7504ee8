import * as fc from 'fast-check';
import { fromStripeEvent } from './stripe-provider';

const PURCHASE = '00000000-0000-7000-8000-000000000001';
const ORGANIZATION = '00000000-0000-7000-8000-000000000002';
const TYPES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.refund.updated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'invoice.paid',
];

const session = {
  id: 'cs_1',
  client_reference_id: PURCHASE,
  metadata: { organization_id: ORGANIZATION },
  amount_total: 1_234,
  currency: 'USD',
  payment_intent: 'pi_1',
  payment_status: 'paid',
};
const read = (type: string, object: unknown) =>
  fromStripeEvent({ id: 'evt_1', type, created: 7, data: { object } }).fact;

describe('fromStripeEvent', () => {
  it('reads the amount in micro-units, and the payment as an id or an expanded object', () => {
    const paid = {
      kind: 'paid',
      purchaseId: PURCHASE,
      organizationId: ORGANIZATION,
      checkoutReference: 'cs_1',
      paymentReference: 'pi_1',
      amountMicro: 12_340_000n,
      currency: 'usd',
    };
    expect(read('checkout.session.completed', session)).toEqual(paid);
    expect(read('checkout.session.completed', { ...session, payment_intent: { id: 'pi_1' } })).toEqual(paid);
    expect(read('checkout.session.completed', { ...session, payment_intent: null })).toMatchObject({
      paymentReference: 'cs_1',
    });
  });

  it.each([
    ['a foreign purchase id', { client_reference_id: 'order-7' }],
    ['a fraction of a cent', { amount_total: 1.5 }],
    ['a negative amount', { amount_total: -1 }],
    ['an amount as text', { amount_total: '1234' }],
    ['an amount that no number can hold', { amount_total: 2 ** 53 }],
    ['a page whose name would break a reference', { id: 'cs:1' }],
  ])('extracts no fact from %s', (_name, change) => {
    expect(read('checkout.session.completed', { ...session, ...change })).toBeNull();
  });

  it.each<[string, string, boolean]>([
    ['refund.created', 'pending', false],
    ['refund.created', 'succeeded', false],
    ['refund.updated', 'requires_action', false],
    ['refund.updated', 'canceled', true],
    ['charge.refund.updated', 'failed', true],
    ['refund.failed', 'failed', true],
  ])('reads a refund from %s of one that is %s', (type, status, hasFailed) => {
    const refund = { id: 're_1', object: 'refund', amount: 1_234, payment_intent: 'pi_1', status, metadata: {} };
    expect(read(type, refund)).toEqual({
      kind: 'refund',
      refundId: 're_1',
      paymentReference: 'pi_1',
      amountMicro: 12_340_000n,
      hasFailed,
    });
  });

  it.each<[string, object, bigint]>([
    ['won', { status: 'won' }, 0n],
    ['an inquiry that was closed', { status: 'warning_closed' }, 0n],
    [
      'lost but for a refund',
      { status: 'lost', balance_transactions: [{ amount: -1_000 }, { amount: 300 }] },
      7_000_000n,
    ],
    [
      'lost in an account of euros',
      { status: 'lost', balance_transactions: [{ amount: -917 }, { amount: 275 }] },
      7_000_000n,
    ],
    [
      'lost, with more returned than was taken',
      { status: 'lost', balance_transactions: [{ amount: -917 }, { amount: 920 }] },
      0n,
    ],
  ])('reads what the bank keeps after a reinstatement: %s', (_name, dispute, withheldMicro) => {
    const object = { id: 'dp_1', object: 'dispute', amount: 1_000, payment_intent: 'pi_1', ...dispute };
    expect(read('charge.dispute.funds_reinstated', object)).toMatchObject({ disputeId: 'dp_1', withheldMicro });
  });

  it.each([undefined, null, [], [{ amount: 300 }], [{ amount: '-1000' }, { amount: 300 }], [null]])(
    'extracts no fact from a reinstatement of a lost dispute with the transactions %j',
    (transactions) => {
      const object = { id: 'dp_1', amount: 1_000, payment_intent: 'pi_1', status: 'lost' };
      expect(read('charge.dispute.funds_reinstated', { ...object, balance_transactions: transactions })).toBeNull();
    },
  );

  it('does not throw on any payload', () => {
    const dispute = { id: 'dp_1', amount: 5, status: 'lost', balance_transactions: [{ amount: -5 }, { amount: 2 }] };
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.record({ ...mapped(session), amount: fc.jsonValue() }),
      fc.record(mapped({ ...dispute, payment_intent: 'pi_1' })),
    );
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), anything, (type, object) => {
        expect(() => read(type, object)).not.toThrow();
      }),
    );
  });
});

/** Each field valid or arbitrary. */
function mapped(object: object): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, fc.oneof(fc.constant(value as unknown), fc.jsonValue())]),
  );
}
