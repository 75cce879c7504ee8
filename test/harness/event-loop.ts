import { setImmediate as nextIteration, setTimeout as delay } from 'node:timers/promises';

/** Time for a chunk to pass from an upstream through the gateway to its client, all in this process. */
const ITERATIONS = 20;

/**
 * Waits a moment, and then until all sockets in this process have been read. A delay alone is not enough: when a busy
 * machine stalls the process, due timers run before the data that arrived in the meantime.
 */
export async function settle(durationMs: number): Promise<void> {
  await delay(durationMs);
  for (let index = 0; index < ITERATIONS; index++) await nextIteration();
}
