import { KeyClaimedError } from '../billing/ledger/money.types';
import { GatewayError } from '../core/errors/gateway-error';
import type { AnswerStore } from '../auth/idempotency/answer-store';
import type { IdempotencyService, StoredAnswer } from '../auth/idempotency/idempotency.service';
import type { InferenceInput } from './inference.types';
import { KeyedAnswers } from './keyed-answers';
import type { Meter } from './meter';
import type { MeteringService } from './metering.service';

const METER = { meter: true } as unknown as Meter;
const STORED: StoredAnswer = { status: 200, headers: {}, body: Buffer.from('stored') };

/** Records the steps in order; each look-up and each opening takes its next scripted outcome. */
function setUp(key: string | null, lookUps: readonly (StoredAnswer | null)[], openings: readonly (Meter | Error)[]) {
  const steps: string[] = [];
  const [looking, opening] = [lookUps.values(), openings.values()];
  const idempotency = {
    lookUp: async (_organizationId: string, _claim: unknown, claimLost = false) => {
      steps.push(claimLost ? 'look up after a loss' : 'look up');
      return looking.next().value ?? null;
    },
    inProgress: () => new GatewayError('idempotency_conflict', 'in progress', { retryAfterSeconds: 2 }),
  } as unknown as IdempotencyService;
  const metering = {
    open: async (_input: InferenceInput, claim: { key: string } | null) => {
      steps.push(`open ${claim?.key}`);
      const outcome = opening.next().value;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  } as unknown as MeteringService;
  const input = {
    operation: 'createChatCompletion',
    principal: { organizationId: 'o' },
    context: { idempotencyKey: key },
    body: { a: 1 },
  } as unknown as InferenceInput;
  return { steps, opened: new KeyedAnswers(metering, idempotency, {} as AnswerStore).open(input) };
}

describe('KeyedAnswers.open', () => {
  it('looks nothing up without a key', async () => {
    const { steps, opened } = setUp(null, [], [METER]);
    expect(await opened).toBe(METER);
    expect(steps).toEqual(['open undefined']);
  });

  it('replays the stored response of a key without admitting the request', async () => {
    const { steps, opened } = setUp('k', [STORED], []);
    expect(await opened).toBe(STORED);
    expect(steps).toEqual(['look up']);
  });

  it('replays the response of a concurrent duplicate that claimed the key first', async () => {
    const { steps, opened } = setUp('k', [null, STORED], [new KeyClaimedError()]);
    expect(await opened).toBe(STORED);
    expect(steps).toEqual(['look up', 'open k', 'look up after a loss']);
  });

  it('claims the key after a concurrent duplicate failed', async () => {
    const { opened } = setUp('k', [null, null], [new KeyClaimedError(), METER]);
    expect(await opened).toBe(METER);
  });

  it('returns idempotency_conflict with Retry-After after losing the key three times', async () => {
    const lost = [new KeyClaimedError(), new KeyClaimedError(), new KeyClaimedError()];
    const { steps, opened } = setUp('k', [null, null, null], lost);
    await expect(opened).rejects.toMatchObject({ code: 'idempotency_conflict', retryAfterSeconds: 2 });
    expect(steps.filter((step) => step === 'open k')).toHaveLength(3);
  });

  it('passes on other refusals', async () => {
    const { opened } = setUp('k', [null], [new GatewayError('insufficient_credits', 'no')]);
    await expect(opened).rejects.toMatchObject({ code: 'insufficient_credits' });
  });
});
