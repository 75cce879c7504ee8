import { IterationQueue } from './iteration-queue';

describe('IterationQueue', () => {
  /** Counts event loop iterations. */
  let iteration = 0;
  let counter: NodeJS.Immediate;

  beforeAll(() => {
    const count = () => {
      iteration++;
      counter = setImmediate(count);
    };
    counter = setImmediate(count);
  });
  afterAll(() => clearImmediate(counter));

  it('runs one task per event loop iteration, in order', async () => {
    const queue = new IterationQueue();
    const done: string[] = [];
    const iterations = await Promise.all(
      ['first', 'second', 'third'].map((name) => queue.add(() => (done.push(name), iteration))),
    );
    expect(done).toEqual(['first', 'second', 'third']);
    expect(new Set(iterations).size).toBe(3);
  });

  it('never runs a task synchronously, not even the first one', async () => {
    let ran = false;
    const done = new IterationQueue().add(() => void (ran = true));
    expect(ran).toBe(false);
    await done;
    expect(ran).toBe(true);
  });

  it('accepts tasks after it was empty, from within a task, and after a task that failed', async () => {
    const queue = new IterationQueue();
    const done: string[] = [];
    await queue.add(() => void queue.add(() => void done.push('inner')));
    await expect(queue.add(() => Promise.reject(new Error('invalid')))).rejects.toThrow('invalid');
    await queue.add(() => void done.push('later'));
    expect(done).toEqual(['inner', 'later']);
  });
});
