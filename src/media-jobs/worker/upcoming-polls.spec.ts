import type { MediaJob } from '../media-job.types';
import { UpcomingPolls } from './upcoming-polls';

const jobOf = (id: string) =>
  ({ id, kind: 'music', params: {}, route: ['first'], deploymentId: 'second' }) as unknown as MediaJob;

describe('UpcomingPolls', () => {
  let nowMs: number;
  let polls: UpcomingPolls;
  beforeEach(() => {
    nowMs = 1_000;
    polls = new UpcomingPolls({ now: () => nowMs, monotonic: () => nowMs });
  });

  it('knows a poll once it is due, and once', () => {
    polls.note(jobOf('a'), { inMs: 500, version: 7 });
    nowMs += 499;
    expect(polls.take('a')).toBeNull();
    nowMs += 1;
    expect([polls.take('a'), polls.take('a')]).toEqual([{ id: 'a', version: 7, lane: 'second' }, null]);
  });

  it('knows the newest version, and nothing of other jobs', () => {
    polls.note(jobOf('a'), { inMs: 0, version: 7 });
    polls.note(jobOf('a'), { inMs: 0, version: 9 });
    expect([polls.take('a')?.version, polls.take('b')]).toEqual([9, null]);
  });

  it('forgets the oldest of more than 10,000', () => {
    for (let index = 0; index <= 10_000; index++) polls.note(jobOf(String(index)), { inMs: 0, version: 1 });
    expect([polls.take('0'), polls.take('1')?.version, polls.take('10000')?.version]).toEqual([null, 1, 1]);
  });
});
