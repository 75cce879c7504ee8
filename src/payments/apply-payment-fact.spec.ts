import * as fc from 'fast-check';
import { applyPaymentFact } from './apply-payment-fact';
import type { PaymentFact } from './payment-provider';
import { type Purchase, takenBackMicro } from './purchase';

const NOW = new Date('2026-11-21T12:00:00Z');
const AMOUNT = 10_000_000n;

const ordered: Purchase = {
  id: '00000000-0000-7000-8000-000000000001',
  organizationId: '00000000-0000-7000-8000-000000000002',
  userId: null,
  provider: 'stripe',
  state: 'pending',
  amountMicro: AMOUNT,
  checkoutReference: 'cs_1',
  checkoutUrl: null,
  paymentReference: null,
  failure: null,
  refundedMicro: 0n,
  disputedMicro: 0n,
  disputeSeenAt: null,
  owedMicro: 0n,
  createdAt: NOW,
  expiresAt: NOW,
  endedAt: null,
};

/** What Stripe says of one purchase in its life, in the order in which it happens. */
const LIFE: readonly PaymentFact[] = [
  { kind: 'not-paid', purchaseId: ordered.id, checkoutReference: 'cs_1', state: 'expired' },
  {
    kind: 'paid',
    purchaseId: ordered.id,
    organizationId: ordered.organizationId,
    checkoutReference: 'cs_1',
    paymentReference: 'pi_1',
    amountMicro: AMOUNT,
    currency: 'usd',
  },
  { kind: 'refunded', purchaseId: ordered.id, paymentReference: 'pi_1', refundedMicro: 2_000_000n },
  { kind: 'disputed', paymentReference: 'pi_1', disputedMicro: 8_000_000n, saidAtMs: NOW.getTime() },
  { kind: 'refunded', purchaseId: ordered.id, paymentReference: 'pi_1', refundedMicro: 3_000_000n },
  { kind: 'disputed', paymentReference: 'pi_1', disputedMicro: 0n, saidAtMs: NOW.getTime() + 1_000 },
];

const live = (facts: readonly PaymentFact[]): Purchase =>
  facts.reduce((purchase, fact) => applyPaymentFact(purchase, fact, NOW).purchase, ordered);

describe('applyPaymentFact', () => {
  it('comes to the same end whichever order the events come in, and however often', () => {
    const anyOrder = fc
      .tuple(fc.shuffledSubarray([...LIFE], { minLength: LIFE.length }), fc.array(fc.constantFrom(...LIFE)))
      .chain(([all, more]) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }));
    fc.assert(fc.property(anyOrder, (facts) => expect(live(facts)).toEqual(live(LIFE))));
    expect(live(LIFE)).toMatchObject({ state: 'paid', refundedMicro: 3_000_000n, disputedMicro: 0n });
  });

  it.each<[PaymentFact['kind'], Purchase['state'], readonly ('processing' | 'failed' | 'expired')[]]>([
    ['not-paid', 'failed', ['failed', 'processing']],
    ['not-paid', 'failed', ['processing', 'failed']],
    ['not-paid', 'processing', ['expired', 'processing']],
    ['not-paid', 'processing', ['processing', 'expired']],
  ])('of a payment that is %s leaves it %s after %j', (kind, end, states) => {
    const facts = states.map((state) => ({ kind, purchaseId: ordered.id, checkoutReference: 'cs_1', state }));
    const purchase = live(facts as PaymentFact[]);
    expect([purchase.state, purchase.endedAt]).toEqual([end, end === 'processing' ? null : NOW]);
  });

  it('never takes back more than was paid, and nothing of what was not', () => {
    const [, paid, ...back] = LIFE;
    expect(takenBackMicro(live(back))).toBe(0n);
    expect(takenBackMicro(live([paid as PaymentFact, ...back.slice(0, 3)]))).toBe(AMOUNT);
  });

  it('leaves a purchase alone when what was paid back is of another payment', () => {
    const [, paid, refund] = LIFE;
    const ofAnother = { ...(refund as PaymentFact), paymentReference: 'pi_2' } as PaymentFact;
    expect(applyPaymentFact(live([paid as PaymentFact]), ofAnother, NOW).outcome).toBe('nothing');
  });

  it('leaves a purchase alone when another page of it has expired', () => {
    const ofAnother = { ...(LIFE[0] as PaymentFact), checkoutReference: 'cs_2' } as PaymentFact;
    expect(applyPaymentFact(ordered, ofAnother, NOW)).toEqual({ purchase: ordered, outcome: 'nothing' });
  });
});
