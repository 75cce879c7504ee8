import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Clock } from '../time/clock';
import { AccountQueue } from './account-queue';

describe('the per-account lock queue', () => {
  let nowMs: number;
  let queue: AccountQueue;
  let begun: string[];
  beforeEach(() => {
    nowMs = 0;
    begun = [];
    const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
    queue = new AccountQueue(clock);
  });

  /** Work for an organization, and its completion handles. */
  function begin(organizationId: string, name: string) {
    const work = Promise.withResolvers<string>();
    const result = queue.runExclusive(organizationId, () => {
      begun.push(name);
      return work.promise;
    });
    return { ...work, result };
  }

  it('runs tasks of one organization in sequence, even after failures, and other organizations in parallel', async () => {
    const [first, second, other] = [begin('a', 'first'), begin('a', 'second'), begin('b', 'other')];
    await nextIteration();
    expect(begun).toEqual(['first', 'other']);
    first.reject(new Error('it failed'));
    await expect(first.result).rejects.toThrow('it failed');
    await nextIteration();
    expect(begun).toEqual(['first', 'other', 'second']);
    second.resolve('done');
    other.resolve('done');
    await expect(Promise.all([second.result, other.result])).resolves.toEqual(['done', 'done']);
  });

  it('rejects tasks that waited too long behind a blocked one, and admits later tasks', async () => {
    const [first, late, later] = [begin('a', 'first'), begin('a', 'late'), begin('a', 'later')];
    nowMs = 1_501;
    const last = begin('a', 'last');
    first.resolve('done');
    await expect(late.result).rejects.toMatchObject({ code: 'service_unavailable' });
    await expect(later.result).rejects.toMatchObject({ code: 'service_unavailable' });
    last.resolve('done');
    await expect(last.result).resolves.toBe('done');
    expect(begun).toEqual(['first', 'last']);
  });

  it('never rejects while the queue makes progress', async () => {
    const row = Array.from({ length: 8 }, (_, index) => begin('a', String(index)));
    for (const { resolve, result } of row) {
      nowMs += 400;
      resolve('done');
      await expect(result).resolves.toBe('done');
    }
    expect(begun).toHaveLength(8);
  });
});
