import * as fc from 'fast-check';
import { applyPaymentFact, type KnownRefunds, NO_REFUNDS } from './apply-payment-fact';
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
  highestRefundedMicro: 0n,
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

/** What is remembered of refunds after these facts. */
function refundsOf(facts: readonly PaymentFact[]): KnownRefunds {
  const failed = new Set(facts.flatMap((fact) => (fact.kind === 'refund' && fact.hasFailed ? [fact.refundId] : [])));
  const known = new Map(
    facts.flatMap((fact) => (fact.kind === 'refund' ? [[fact.refundId, fact.amountMicro] as const] : [])),
  );
  const sum = (wanted: boolean): bigint =>
    [...known].reduce((total, [id, amountMicro]) => (failed.has(id) === wanted ? total + amountMicro : total), 0n);
  return { standingMicro: sum(false), failedMicro: sum(true) };
}

const live = (facts: readonly PaymentFact[]): Purchase =>
  facts.reduce(
    (purchase, fact, index) => applyPaymentFact(purchase, fact, refundsOf(facts.slice(0, index + 1)), NOW).purchase,
    ordered,
  );

const refund = (refundId: string, amountMicro: bigint, hasFailed = false): PaymentFact => ({
  kind: 'refund',
  refundId,
  paymentReference: 'pi_1',
  amountMicro,
  hasFailed,
});
const refundedSum = (refundedMicro: bigint): PaymentFact => ({
  kind: 'refunded',
  purchaseId: ordered.id,
  paymentReference: 'pi_1',
  refundedMicro,
});

describe('applyPaymentFact', () => {
  it('comes to the same end whichever order the events come in, and however often', () => {
    const anyOrder = fc
      .tuple(fc.shuffledSubarray([...LIFE], { minLength: LIFE.length }), fc.array(fc.constantFrom(...LIFE)))
      .chain(([all, more]) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }));
    fc.assert(fc.property(anyOrder, (facts) => expect(live(facts)).toEqual(live(LIFE))));
    expect(live(LIFE)).toMatchObject({ state: 'paid', refundedMicro: 3_000_000n, disputedMicro: 0n });
  });

  it.each<[string, readonly PaymentFact[], bigint]>([
    ['a refund that was told of as such only', [refund('re_1', 3_000_000n)], 3_000_000n],
    ['a refund that has failed', [refund('re_1', 3_000_000n), refund('re_1', 3_000_000n, true)], 0n],
    ['a sum of which all has failed', [refundedSum(3_000_000n), refund('re_1', 3_000_000n, true)], 0n],
    [
      'a failed refund that was made again, where sums are without those that failed',
      [
        refund('re_1', 3_000_000n),
        refundedSum(3_000_000n),
        refund('re_1', 3_000_000n, true),
        refund('re_2', 3_000_000n),
        refundedSum(3_000_000n),
      ],
      3_000_000n,
    ],
    [
      'a failed refund that was made again, where sums are with those that failed',
      [
        refund('re_1', 3_000_000n),
        refundedSum(3_000_000n),
        refund('re_1', 3_000_000n, true),
        refund('re_2', 3_000_000n),
        refundedSum(6_000_000n),
      ],
      3_000_000n,
    ],
  ])('comes to the same end in any order with %s', (_name, facts, refundedMicro) => {
    const all = [LIFE[1] as PaymentFact, ...facts];
    const anyOrder = fc
      .array(fc.constantFrom(...all))
      .chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }));
    fc.assert(
      fc.property(anyOrder, (told) => {
        expect(live(told)).toMatchObject({ state: 'paid', refundedMicro });
      }),
    );
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
    const [, paid, sum] = LIFE;
    const ofAnother = { ...(sum as PaymentFact), paymentReference: 'pi_2' } as PaymentFact;
    expect(applyPaymentFact(live([paid as PaymentFact]), ofAnother, NO_REFUNDS, NOW).outcome).toBe('nothing');
  });

  it('leaves a purchase alone when another page of it has expired', () => {
    const ofAnother = { ...(LIFE[0] as PaymentFact), checkoutReference: 'cs_2' } as PaymentFact;
    expect(applyPaymentFact(ordered, ofAnother, NO_REFUNDS, NOW)).toEqual({ purchase: ordered, outcome: 'nothing' });
  });
});
