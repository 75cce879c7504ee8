import { EventEmitter, once } from 'node:events';
import { PeriodicTask } from './periodic-task';

describe('PeriodicTask', () => {
  it('runs immediately, again after the pause, and never after it is stopped', async () => {
    let runs = 0;
    const second = new EventEmitter();
    const ranTwice = once(second, 'run');
    const task = new PeriodicTask({
      run: async () => {
        runs += 1;
        if (runs === 2) second.emit('run');
      },
      pauseMs: () => 1,
      onError: () => undefined,
    });
    await task.start();
    expect(runs).toBe(1);
    await ranTwice;
    await task.stop();
    const after = runs;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(runs).toBe(after);
  });

  it('continues after a failed run and reports the error', async () => {
    const pauses: boolean[] = [];
    const errors: unknown[] = [];
    const task = new PeriodicTask({
      run: () => Promise.reject(new Error('no database')),
      pauseMs: (hasFailed) => {
        pauses.push(hasFailed);
        return 60_000;
      },
      onError: (error) => errors.push(error),
    });
    await task.start();
    await task.stop();
    expect([pauses, errors]).toEqual([[true], [new Error('no database')]]);
  });

  it('waits for the run in progress when it is stopped', async () => {
    const work = new EventEmitter();
    const task = new PeriodicTask({
      run: async () => {
        await once(work, 'done');
      },
      pauseMs: () => 1,
      onError: () => undefined,
    });
    void task.start();
    let isStopped = false;
    const stopping = task.stop().then(() => (isStopped = true));
    await new Promise(setImmediate);
    expect(isStopped).toBe(false);
    work.emit('done');
    await stopping;
  });
});
