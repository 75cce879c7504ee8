import { setImmediate as nextIteration } from 'node:timers/promises';
import pLimit from 'p-limit';

/** Runs tasks in order, at most one per event loop iteration, so that timers and sockets are served in between. */
export class IterationQueue {
  private readonly runAlone = pLimit(1);

  add<Result>(task: () => Result): Promise<Result> {
    return this.runAlone(async () => {
      await nextIteration();
      return task();
    });
  }
}
