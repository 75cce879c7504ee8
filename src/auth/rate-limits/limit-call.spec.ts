import { heldSlots } from './limit-call';
import type { LimitCheck } from './limit-check';

const slot = (redisKey: string): LimitCheck => ({
  scope: 'key',
  kind: 'concurrency',
  limit: 1,
  redisKey,
  windowMs: 0,
});

describe('heldSlots', () => {
  it('groups slots by key', () => {
    const holders = [
      { member: 'one', slotChecks: [slot('a'), slot('b')] },
      { member: 'two', slotChecks: [slot('a')] },
    ];
    expect([...heldSlots(holders)]).toEqual([
      [
        { redisKey: 'a', members: ['one', 'two'] },
        { redisKey: 'b', members: ['one'] },
      ],
    ]);
  });

  it('splits many slots into batches without omissions', () => {
    const holders = Array.from({ length: 1_201 }, (_, index) => ({ member: String(index), slotChecks: [slot('a')] }));
    const portions = [...heldSlots(holders)].map((portion) => portion.flatMap(({ members }) => members));
    expect(portions.map(({ length }) => length)).toEqual([500, 500, 201]);
    expect(new Set(portions.flat()).size).toBe(1_201);
  });

  it('is empty when no slot is held', () => {
    expect([...heldSlots([])]).toEqual([]);
  });
});
