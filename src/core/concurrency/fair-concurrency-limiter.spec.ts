import { FairConcurrencyLimiter } from './fair-concurrency-limiter';

/** Takes slots for `lane` until refused. Returns their number. */
function fill(limiter: FairConcurrencyLimiter, lane: string): number {
  let count = 0;
  while (limiter.enter(lane)) count++;
  return count;
}

describe('FairConcurrencyLimiter', () => {
  it('gives the first lane half of the slots and later lanes half of the rest', () => {
    const limiter = new FairConcurrencyLimiter(20);
    expect(['one', 'two', 'three'].map((lane) => fill(limiter, lane))).toEqual([10, 5, 3]);
    expect(limiter.free).toBe(2);
  });

  it.each([1, 2, 3, 8, 20, 1_000])('with %d slots, keeps one for a new lane until all are taken', (limit) => {
    const limiter = new FairConcurrencyLimiter(limit);
    for (let lane = 0; limiter.free > 0; lane++) {
      expect(limiter.enter(`lane ${lane}`)).toBe(true);
      fill(limiter, `lane ${lane}`);
    }
    expect(limiter.enter('yet another')).toBe(false);
  });

  it('wakes one waiter of a lane for each freed slot, in order of arrival', async () => {
    const limiter = new FairConcurrencyLimiter(4);
    fill(limiter, 'busy');
    const woken: number[] = [];
    const waits = [1, 2].map((each) => limiter.waitForSlot('busy', 60_000).then(() => woken.push(each)));
    limiter.leave('busy');
    await waits[0];
    expect([woken, limiter.enter('busy')]).toEqual([[1], true]);
    limiter.wakeAll();
    await waits[1];
    expect([woken, limiter.enter('busy')]).toEqual([[1, 2], false]);
  });

  it('queues no more callers than it has slots, and none longer than its time limit', async () => {
    const limiter = new FairConcurrencyLimiter(2);
    fill(limiter, 'hanging');
    const waits = [limiter.waitForSlot('hanging', 1), limiter.waitForSlot('hanging', 1)];
    await limiter.waitForSlot('hanging', 60_000);
    await Promise.all(waits);
    expect(limiter.enter('hanging')).toBe(false);
  });

  it('frees slots on leave and lists the full lanes', () => {
    const limiter = new FairConcurrencyLimiter(4);
    fill(limiter, 'slow');
    limiter.enter('quick');
    expect(limiter.fullLanes()).toEqual(['slow', 'quick']);
    limiter.leave('slow');
    expect(limiter.fullLanes()).toEqual([]);
    limiter.leave('slow');
    limiter.leave('quick');
    expect([limiter.free, limiter.fullLanes(), fill(limiter, 'slow')]).toEqual([4, [], 2]);
  });
});
