import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

/** For a chunk to go from an upstream through the gateway to its client, all of them in this process. */
const TURNS = 20;

/**
 * Waits a moment, and then until everybody in this process has read what has come by then. Time alone does not say so: when
 * a busy machine has kept the process waiting, its timers come first, and what has arrived in the meantime after them.
 */
export async function settle(durationMs: number): Promise<void> {
  await delay(durationMs);
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
}
