import { GatewayError } from '../../src/core/errors/gateway-error';
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

/** F-40 and F-41, with the client's requests sent over HTTP. */
describe('concurrent endings of one job', () => {
  let served: JobGateway;

  beforeAll(async () => {
    served = await JobGateway.start({ DATABASE_POOL_SIZE: '20', MONEY_POOL_SIZE: '10' });
  });
  afterAll(() => served.stop());

  /** An action of a worker or a sweep: `true` when it decided the outcome. */
  const tryToEnd = async (job: MediaJob, ending: JobEnding): Promise<boolean> => {
    const receipt = receiptOf(job, ending, NO_USAGE, Date.now());
    for (;;) {
      try {
        return (await served.service(JobMoneyRepository).finish(job.id, ending, receipt)) !== null;
      } catch (error) {
        // A busy machine can lock the organization's row for longer than the timeout: workers retry too.
        if (!(error instanceof GatewayError && error.code === 'service_unavailable')) throw error;
        // The action may have committed anyway: the final state of the job shows which one did.
        if ((await served.job(job.id)).status === ending.status) return true;
      }
    }
  };
  const successOf = async (job: MediaJob): Promise<JobEnding> => ({
    status: 'succeeded',
    costMicro: COST_MICRO,
    artifacts: [await served.store(job)],
  });

  async function race<Outcome>(run: (index: number) => Promise<Outcome>): Promise<Map<Outcome, number>> {
    const counts = new Map<Outcome, number>();
    for (let start = 0; start < RACES; start += AT_ONCE) {
      const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => run(start + at)));
      for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    return counts;
  }

  it('DELETE and success: either there is no charge, or the result exists and DELETE reports it', async () => {
    const customer = await served.gateway.customer({}, BigInt(BALANCE_MICRO));
    const outcomes = await race(async (index) => {
      const id = await served.submitted({}, customer);
      // Long in finalizing, so that the database accepts a cancellation at any moment.
      const job = await served.workOn(id, 'finalizing');
      await served.letFinalize(id, 61);
      const success = await successOf(job);
      const reply = untilServed(() => served.deleteVideo(id, customer));
      // From well before the success is visible to well after it.
      await new Promise((resolve) => setTimeout(resolve, index % AT_ONCE));
      const [hasSucceeded, answer] = await Promise.all([tryToEnd(job, success), reply]);
      const current = answer.status === 409 ? await untilServed(() => served.getJob(id, customer)) : answer;
      return `${answer.status} ${(current.json?.status as string | undefined) ?? 'gone'} ${hasSucceeded ? 'charged' : 'free'}`;
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
    const outcomes = await race(async (index) => {
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
      const rotated = [...ends.slice(index % 4), ...ends.slice(0, index % 4)];
      const winners = (await Promise.all(rotated.map((end) => end()))).filter((won) => won !== false);
      if (winners.length > 0) return winners.join(' and ');
      const [hold] = await served.gateway.rows<{ state: string }>('SELECT state FROM reservation WHERE id = $1', [id]);
      return hold?.state === 'expired' ? 'expired by the gateway' : '';
    });
    report('four ends at once', Object.fromEntries(outcomes));
    expect([...outcomes.keys()].filter((outcome) => outcome === '' || outcome.includes(' and '))).toEqual([]);
    const charged = (outcomes.get('succeeded') ?? 0) * Number(COST_MICRO);
    expect(await served.balance(customer)).toBe(BALANCE_MICRO - charged);
    expect(await served.gateway.violations()).toEqual([]);
  });
});

/** F-20. */
describe('concurrent requests with one key', () => {
  let served: JobGateway;

  beforeAll(async () => {
    served = await JobGateway.start();
  });
  afterAll(() => served.stop());

  it('with one body create one job and one hold, and get the same response', async () => {
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
    // Images of the other requests were stored in vain, and are deleted.
    expect(await served.objects(customer)).toHaveLength(1);
    expect(tookMs).toBeLessThan(TWINS_WITHIN_MS);
  });

  it('with two bodies create one job: requests with the other body get 409 without Retry-After', async () => {
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
