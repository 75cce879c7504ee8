import { paymentChange } from './payment-change';

const PAID = { state: 'paid', amount_micro: 10_000_000 };

describe('what a payment event changed', () => {
  it.each([
    ['Payment received', 10_000_000n, { ...PAID, state: 'pending' }, PAID],
    ['Payment received', 10_000_000n, { ...PAID, state: 'expired' }, { ...PAID, refunded_micro: 1_000_000 }],
    ['Payment refunded', 3_500_000n, PAID, { ...PAID, refunded_micro: 3_500_000 }],
    ['Payment refunded', 500_000n, { ...PAID, refunded_micro: 500_000 }, { ...PAID, refunded_micro: '1000000' }],
    ['Refund failed', 2_000_000n, { ...PAID, refunded_micro: 2_000_000 }, PAID],
    ['Payment disputed', 7_000_000n, PAID, { ...PAID, disputed_micro: 7_000_000, owed_micro: 1_000_000 }],
    ['Disputed amount returned', 7_000_000n, { ...PAID, disputed_micro: 7_000_000 }, PAID],
    ['Payment on its way', 10_000_000n, { ...PAID, state: 'pending' }, { ...PAID, state: 'processing' }],
    [
      'Payment failed',
      10_000_000n,
      { ...PAID, state: 'processing' },
      { ...PAID, state: 'failed', failure: 'It failed.' },
    ],
    ['Payment expired', 10_000_000n, { ...PAID, state: 'pending' }, { ...PAID, state: 'expired' }],
    ['Payment differs from the order', 10_000_000n, { ...PAID, state: 'pending' }, { ...PAID, state: 'mismatch' }],
    ['Payment needs a review', 10_000_000n, PAID, { ...PAID, failure: 'It was paid a second time.' }],
  ])('is %s of %s micro-units', (text, micro, before, after) => {
    expect(paymentChange(before, after)).toEqual({ text, micro });
  });

  it('is not known without its fields', () => {
    expect(paymentChange(null, null)).toEqual({ text: 'Payment changed', micro: 0n });
  });
});
