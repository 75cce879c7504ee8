import { Semaphore, SemaphoreFullError } from './semaphore';

function work() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { run: () => promise, resolve, reject };
}

describe('a semaphore', () => {
  it('runs one task per slot, then the others in order', async () => {
    const semaphore = new Semaphore(2);
    const started: number[] = [];
    const tasks = [work(), work(), work(), work()];
    const runs = tasks.map((task, index) =>
      semaphore.run(() => {
        started.push(index);
        return task.run();
      }),
    );
    expect(started).toEqual([0, 1]);
    tasks[1]?.resolve('one');
    await runs[1];
    await Promise.resolve();
    expect(started).toEqual([0, 1, 2]);
    for (const task of tasks) task.resolve('done');
    await Promise.all(runs);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('rejects work when the queue is full, and accepts it again when there is room', async () => {
    const semaphore = new Semaphore(1, 1);
    const [first, second] = [work(), work()];
    const running = semaphore.run(first.run);
    const waiting = semaphore.run(second.run);
    await expect(semaphore.run(() => Promise.resolve())).rejects.toThrow(SemaphoreFullError);
    first.resolve('first');
    second.resolve('second');
    expect(await Promise.all([running, waiting])).toEqual(['first', 'second']);
    await expect(semaphore.run(() => Promise.resolve('third'))).resolves.toBe('third');
  });

  it('frees the slot after work that fails', async () => {
    const semaphore = new Semaphore(1, 0);
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(semaphore.run(() => Promise.resolve('yes'))).resolves.toBe('yes');
  });
});
