import type { DuePoll } from '../media-job.types';
import { UpcomingPolls } from './upcoming-polls';

const pollOf = (id: string, version: number) => ({ id, version }) as DuePoll;

describe('UpcomingPolls', () => {
  let nowMs: number;
  let polls: UpcomingPolls;
  beforeEach(() => {
    nowMs = 1_000;
    polls = new UpcomingPolls({ now: () => nowMs, monotonic: () => nowMs });
  });

  it('returns a due poll exactly once', () => {
    polls.note(pollOf('a', 7), 500);
    nowMs += 499;
    expect(polls.take('a')).toBeNull();
    nowMs += 1;
    expect([polls.take('a'), polls.take('a')]).toEqual([pollOf('a', 7), null]);
  });

  it('knows the newest version, and nothing of other jobs', () => {
    polls.note(pollOf('a', 7), 0);
    polls.note(pollOf('a', 9), 0);
    expect([polls.take('a')?.version, polls.take('b')]).toEqual([9, null]);
  });

  it('forgets the oldest of more than 10,000', () => {
    for (let index = 0; index <= 10_000; index++) polls.note(pollOf(String(index), 1), 0);
    expect([polls.take('0'), polls.take('1')?.version, polls.take('10000')?.version]).toEqual([null, 1, 1]);
  });
});
