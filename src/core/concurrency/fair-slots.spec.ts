import { setImmediate as nextIteration } from 'node:timers/promises';
import { FairSlots } from './fair-slots';

const never = new AbortController().signal;

describe('FairSlots', () => {
  let slots: FairSlots;
  let entered: string[];
  beforeEach(() => {
    slots = new FairSlots(4);
    entered = [];
  });

  /** Takes a slot for the owner that the first letter of the name denotes. */
  const enter = (name: string, signal = never): Promise<void> =>
    slots.enter(name.charAt(0), signal).then(() => void entered.push(name));

  it('admits one owner to half of the slots, and others to the rest', async () => {
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'd1'].map((name) => enter(name));
    await nextIteration();
    expect(entered).toEqual(['a1', 'a2', 'b1', 'c1']);
    slots.leave('b');
    await nextIteration();
    expect(entered.slice(4)).toEqual(['d1']);
    for (const owner of ['a', 'a', 'c', 'd']) slots.leave(owner);
    await Promise.all(all);
    expect(entered.slice(5)).toEqual(['a3']);
  });

  it('admits waiting callers in order of arrival, before later callers', async () => {
    const all = ['a1', 'a2', 'a3', 'a4'].map((name) => enter(name));
    await nextIteration();
    slots.leave('a');
    all.push(enter('a5'));
    slots.leave('a');
    slots.leave('a');
    await Promise.all(all);
    expect(entered).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  });

  it('admits every waiting caller that one freed slot makes room for', async () => {
    slots = new FairSlots(3);
    const all = ['a1', 'b1', 'a2', 'b2'].map((name) => enter(name));
    await nextIteration();
    expect(entered).toEqual(['a1', 'b1']);
    slots.leave('b');
    await Promise.all(all);
    expect(entered.slice(2)).toEqual(['a2', 'b2']);
  });

  it('rejects a caller whose signal aborts while it waits, and gives its slot to the next one', async () => {
    const leaving = new AbortController();
    const reason = new Error('gone');
    await Promise.all([enter('a1'), enter('a2')]);
    const left = enter('a3', leaving.signal);
    const next = enter('a4');
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
    slots.leave('a');
    await next;
    expect(entered).toEqual(['a1', 'a2', 'a4']);
  });

  it('takes no slot when the signal has already aborted', async () => {
    await expect(slots.enter('a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    await Promise.all([enter('a1'), enter('a2')]);
    expect(entered).toEqual(['a1', 'a2']);
  });

  it('keeps the slot of a caller whose signal aborts once it is admitted', async () => {
    const leaving = new AbortController();
    await Promise.all([enter('a1'), enter('a2')]);
    const late = enter('a3', leaving.signal);
    slots.leave('a');
    leaving.abort(new Error('gone'));
    await late;
    expect(entered).toEqual(['a1', 'a2', 'a3']);
  });
});
