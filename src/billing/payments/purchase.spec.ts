import * as fc from 'fast-check';
import type { PaymentFact } from './payment-provider';
import { applyPaymentFact, type KnownReversals, NO_REVERSALS, type Purchase, takenBackMicro } from './purchase';

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
  owedMicro: 0n,
  createdAt: NOW,
  expiresAt: NOW,
  endedAt: null,
  reviewedAt: null,
};

/** Stripe's events for one purchase, in chronological order. */
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
  dispute('dp_1', 8_000_000n, 0),
  dispute('dp_2', 1_000_000n, 500),
  { kind: 'refunded', purchaseId: ordered.id, paymentReference: 'pi_1', refundedMicro: 3_000_000n },
  dispute('dp_1', 0n, 1_000),
];

function dispute(disputeId: string, withheldMicro: bigint, afterMs: number): PaymentFact {
  const reportedAtMs = NOW.getTime() + afterMs;
  return { kind: 'disputed', disputeId, paymentReference: 'pi_1', withheldMicro, reportedAtMs };
}

/** The stored refunds and disputes after these facts. */
function reversalsOf(facts: readonly PaymentFact[]): KnownReversals {
  const failed = new Set(facts.flatMap((fact) => (fact.kind === 'refund' && fact.hasFailed ? [fact.refundId] : [])));
  const known = new Map(
    facts.flatMap((fact) => (fact.kind === 'refund' ? [[fact.refundId, fact.amountMicro] as const] : [])),
  );
  const sum = (wanted: boolean): bigint =>
    [...known].reduce((total, [id, amountMicro]) => (failed.has(id) === wanted ? total + amountMicro : total), 0n);
  const disputes = facts
    .filter((fact) => fact.kind === 'disputed')
    .toSorted((left, right) => left.reportedAtMs - right.reportedAtMs);
  const withheld = new Map(disputes.map(({ disputeId, withheldMicro }) => [disputeId, withheldMicro]));
  const disputedMicro = [...withheld.values()].reduce((total, micro) => total + micro, 0n);
  return { refundedMicro: sum(false), failedRefundsMicro: sum(true), disputedMicro };
}

const live = (facts: readonly PaymentFact[]): Purchase =>
  facts.reduce(
    (purchase, fact, index) => applyPaymentFact(purchase, fact, reversalsOf(facts.slice(0, index + 1)), NOW).purchase,
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
  it('reaches the same state for any order and number of events', () => {
    const anyOrder = fc
      .tuple(fc.shuffledSubarray([...LIFE], { minLength: LIFE.length }), fc.array(fc.constantFrom(...LIFE)))
      .chain(([all, more]) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }));
    fc.assert(fc.property(anyOrder, (facts) => expect(live(facts)).toEqual(live(LIFE))));
    expect(live(LIFE)).toMatchObject({ state: 'paid', refundedMicro: 3_000_000n, disputedMicro: 1_000_000n });
  });

  it.each<[string, readonly PaymentFact[], bigint]>([
    ['a refund without an event for the sum', [refund('re_1', 3_000_000n)], 3_000_000n],
    ['a failed refund', [refund('re_1', 3_000_000n), refund('re_1', 3_000_000n, true)], 0n],
    ['a refunded sum that failed completely', [refundedSum(3_000_000n), refund('re_1', 3_000_000n, true)], 0n],
    [
      'a retried refund when sums exclude failed refunds',
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
      'a retried refund when sums include failed refunds',
      [
        refund('re_1', 3_000_000n),
        refundedSum(3_000_000n),
        refund('re_1', 3_000_000n, true),
        refund('re_2', 3_000_000n),
        refundedSum(6_000_000n),
      ],
      3_000_000n,
    ],
  ])('reaches the same state in any order with %s', (_name, facts, refundedMicro) => {
    const all = [LIFE[1] as PaymentFact, ...facts];
    const anyOrder = fc
      .array(fc.constantFrom(...all))
      .chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }));
    fc.assert(
      fc.property(anyOrder, (events) => {
        expect(live(events)).toMatchObject({ state: 'paid', refundedMicro });
      }),
    );
  });

  it.each<[PaymentFact['kind'], Purchase['state'], readonly ('processing' | 'failed' | 'expired')[]]>([
    ['not-paid', 'failed', ['failed', 'processing']],
    ['not-paid', 'failed', ['processing', 'failed']],
    ['not-paid', 'processing', ['expired', 'processing']],
    ['not-paid', 'processing', ['processing', 'expired']],
  ])('with a %s fact ends as %s after %j', (kind, end, states) => {
    const facts = states.map((state) => ({ kind, purchaseId: ordered.id, checkoutReference: 'cs_1', state }));
    const purchase = live(facts as PaymentFact[]);
    expect([purchase.state, purchase.endedAt]).toEqual([end, end === 'processing' ? null : NOW]);
  });

  it('takes back at most the paid amount, and nothing from an unpaid purchase', () => {
    const [, paid, ...back] = LIFE;
    expect(takenBackMicro(live(back))).toBe(0n);
    expect(takenBackMicro(live([paid as PaymentFact, ...back.slice(0, 3)]))).toBe(AMOUNT);
  });

  it('ignores a refund of another payment', () => {
    const [, paid, sum] = LIFE;
    const ofAnother = { ...(sum as PaymentFact), paymentReference: 'pi_2' } as PaymentFact;
    expect(applyPaymentFact(live([paid as PaymentFact]), ofAnother, NO_REVERSALS, NOW).outcome).toBe('nothing');
  });

  it('ignores the expiry of another page', () => {
    const ofAnother = { ...(LIFE[0] as PaymentFact), checkoutReference: 'cs_2' } as PaymentFact;
    expect(applyPaymentFact(ordered, ofAnother, NO_REVERSALS, NOW)).toEqual({ purchase: ordered, outcome: 'nothing' });
  });
});
