import { FairQueue } from './fair-queue';

describe('FairQueue', () => {
  it('alternates between owners and keeps the order of the items of each owner', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item, item.charAt(0));
    const taken = [queue.shift(), queue.shift()];
    queue.push('d1', 'd');
    queue.push('b2', 'b');
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) taken.push(item);
    expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'd1', 'b2', 'c2', 'a3']);
  });

  it('accepts new items after it was emptied', () => {
    const queue = new FairQueue<string>();
    expect(queue.shift()).toBeUndefined();
    queue.push('a', 'owner');
    expect([queue.shift(), queue.shift()]).toEqual(['a', undefined]);
  });
});
