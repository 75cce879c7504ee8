import { TurnSlots } from './turn-slots';

/** How many of `lane` get in. */
function fill(slots: TurnSlots, lane: string): number {
  let count = 0;
  while (slots.enter(lane)) count++;
  return count;
}

describe('TurnSlots', () => {
  it('gives one lane half of the places, and those that come after it their part of the rest', () => {
    const slots = new TurnSlots(20);
    expect(['one', 'two', 'three'].map((lane) => fill(slots, lane))).toEqual([10, 5, 3]);
    expect(slots.free).toBe(2);
  });

  it.each([1, 2, 3, 8, 20, 1_000])('always has a place for another lane, of %d, until all are taken', (limit) => {
    const slots = new TurnSlots(limit);
    for (let lane = 0; slots.free > 0; lane++) {
      expect(slots.enter(`lane ${lane}`)).toBe(true);
      fill(slots, `lane ${lane}`);
    }
    expect(slots.enter('yet another')).toBe(false);
  });

  it('takes back what is left, and names the lanes that would not be let in', () => {
    const slots = new TurnSlots(4);
    fill(slots, 'slow');
    slots.enter('quick');
    expect(slots.fullLanes()).toEqual(['slow', 'quick']);
    slots.leave('slow');
    expect(slots.fullLanes()).toEqual([]);
    slots.leave('slow');
    slots.leave('quick');
    expect([slots.free, slots.fullLanes(), fill(slots, 'slow')]).toEqual([4, [], 2]);
  });
});
