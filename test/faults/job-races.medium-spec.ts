import { GatewayError } from '../../src/common/errors/gateway-error';
import { JobMoneyRepository } from '../../src/media-jobs/job-money.repository';
import { receiptOf } from '../../src/media-jobs/job-receipt';
import type { JobEnding, MediaJob } from '../../src/media-jobs/media-job.types';
import { NO_USAGE } from '../../src/providers/contract/usage';
import { PIXEL } from '../harness/public-host';
import { JobGateway, untilServed } from '../e2e/create-video/job-gateway';
import { allowedMs, FULL, report } from './figures';

const RACES = FULL ? 500 : 50;
const AT_ONCE = 10;
const TWINS = FULL ? 1_000 : 200;
const TWINS_WITHIN_MS = allowedMs(5_000);
const COST_MICRO = 1_000n;
const BALANCE_MICRO = 100_000_000;

/** F-40 and F-41, with the client's part played over HTTP. */
describe('of all that can end a job at the same time', () => {
  let served: JobGateway;

  beforeAll(async () => {
    served = await JobGateway.start({ DATABASE_POOL_SIZE: '20', MONEY_POOL_SIZE: '10' });
  });
  afterAll(() => served.stop());

  /** What a worker or a sweep does: `true` where it is what happened. */
  const tryToEnd = async (job: MediaJob, ending: JobEnding): Promise<boolean> => {
    const receipt = receiptOf(job, ending, NO_USAGE, Date.now());
    for (;;) {
      try {
        return (await served.service(JobMoneyRepository).finish(job.id, ending, receipt)) !== null;
      } catch (error) {
        // A busy machine may keep the organization's row for longer than one waits: a worker comes again, too.
        if (!(error instanceof GatewayError && error.code === 'service_unavailable')) throw error;
        // It may have happened all the same: an ended job says which of them it was.
        if ((await served.job(job.id)).status === ending.status) return true;
      }
    }
  };
  const successOf = async (job: MediaJob): Promise<JobEnding> => ({
    status: 'succeeded',
    costMicro: COST_MICRO,
    artifacts: [await served.store(job)],
  });

  async function race<Outcome>(run: (turn: number) => Promise<Outcome>): Promise<Map<Outcome, number>> {
    const counts = new Map<Outcome, number>();
    for (let start = 0; start < RACES; start += AT_ONCE) {
      const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => run(start + at)));
      for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    return counts;
  }

  it('DELETE and success: either nothing is charged, or the result is there and DELETE says so', async () => {
    const customer = await served.gateway.customer({}, BigInt(BALANCE_MICRO));
    const outcomes = await race(async (turn) => {
      const id = await served.submitted({}, customer);
      // Long in finalizing, so that the database would let it be canceled at any moment.
      const job = await served.workOn(id, 'finalizing');
      await served.letFinalize(id, 61);
      const success = await successOf(job);
      const reply = untilServed(() => served.deleteVideo(id, customer));
      // From well before it is heard of to well after it has happened.
      await new Promise((resolve) => setTimeout(resolve, turn % AT_ONCE));
      const [hasSucceeded, answer] = await Promise.all([tryToEnd(job, success), reply]);
      const told = answer.status === 409 ? await untilServed(() => served.getJob(id, customer)) : answer;
      return `${answer.status} ${(told.json?.status as string | undefined) ?? 'gone'} ${hasSucceeded ? 'charged' : 'free'}`;
    });
    report('DELETE against success', Object.fromEntries(outcomes));
    const known = ['200 canceled free', '409 succeeded charged', '204 gone charged'];
    expect([...outcomes.keys()].filter((outcome) => !known.includes(outcome))).toEqual([]);
    const succeeded = RACES - (outcomes.get('200 canceled free') ?? 0);
    expect(await served.balance(customer)).toBe(BALANCE_MICRO - succeeded * Number(COST_MICRO));
    expect(await served.gateway.violations()).toEqual([]);
  });

  it('success, failure, expiry and DELETE: each job ends exactly once', async () => {
    const customer = await served.gateway.customer({}, BigInt(BALANCE_MICRO));
    const error = { code: 'provider_error', message: 'It did not work.' } as const;
    const outcomes = await race(async (turn) => {
      const id = await served.submitted({}, customer);
      const job = await served.workOn(id, 'finalizing');
      await served.letFinalize(id, 61);
      await served.letExpire(id);
      const [current, success] = [await served.job(id), await successOf(job)];
      const ends = [
        () => tryToEnd(job, success).then((won) => won && 'succeeded'),
        () => tryToEnd(current, { status: 'failed', error }).then((won) => won && 'failed'),
        () => tryToEnd(current, { status: 'expired' }).then((won) => won && 'expired'),
        () => untilServed(() => served.deleteVideo(id, customer)).then(({ status }) => status === 200 && 'canceled'),
      ];
      const inTurn = [...ends.slice(turn % 4), ...ends.slice(0, turn % 4)];
      return (await Promise.all(inTurn.map((end) => end()))).filter((won) => won !== false).join(' and ');
    });
    report('four ends at once', Object.fromEntries(outcomes));
    expect([...outcomes.keys()].filter((outcome) => outcome === '' || outcome.includes(' and '))).toEqual([]);
    const charged = (outcomes.get('succeeded') ?? 0) * Number(COST_MICRO);
    expect(await served.balance(customer)).toBe(BALANCE_MICRO - charged);
    expect(await served.gateway.violations()).toEqual([]);
  });
});

/** F-20. */
describe('requests at once with one key', () => {
  let served: JobGateway;

  beforeAll(async () => {
    served = await JobGateway.start();
  });
  afterAll(() => served.stop());

  it('and one body are one job, one hold, and for everybody the same answer', async () => {
    const customer = await served.gateway.customer();
    const startedAtMs = performance.now();
    const image = PIXEL.toString('base64');
    const replies = await Promise.all(
      Array.from({ length: TWINS }, () =>
        untilServed(() => served.createVideo({ input_images: [image] }, { customer, key: 'twins' })),
      ),
    );
    const tookMs = Math.round(performance.now() - startedAtMs);
    report(`${TWINS} submissions with one key`, { tookMs });
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(202);
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(await served.jobCount(customer)).toBe(1);
    expect(await served.balance(customer)).toBe(10_000_000 - 15_000);
    // What came with the others was stored for nothing, and is gone.
    expect(await served.objects(customer)).toHaveLength(1);
    expect(tookMs).toBeLessThan(TWINS_WITHIN_MS);
  });

  it('and two bodies are one job, too: those with the other body are told so, and not to come back', async () => {
    const customer = await served.gateway.customer();
    const replies = await Promise.all(
      Array.from({ length: TWINS }, (_, at) =>
        untilServed(() => served.createVideo({ duration_seconds: 2 + (at % 2) }, { customer, key: 'two-bodies' })),
      ),
    );
    const outcomes = Map.groupBy(replies, ({ status, json }) => `${status} ${(json.error?.code as string) ?? ''}`);
    expect([...outcomes.keys()].toSorted()).toEqual(['202 ', '409 idempotency_conflict']);
    for (const [, same] of outcomes) expect(same).toHaveLength(TWINS / 2);
    expect(replies.filter(({ headers }) => headers.get('retry-after') !== null)).toEqual([]);
    expect(await served.jobCount(customer)).toBe(1);
  });
});
