import type { ManagedChild } from '../harness/child-process';
import { settle } from '../harness/event-loop';
import { until } from './figures';

/**
 * `kill -9` in a state that the process cannot leave before it dies: it is suspended during each check, and resumed
 * when `isSo` is false. Clients in this process have read all that it has sent.
 */
export async function killWhen(what: string, child: ManagedChild, isSo: () => Promise<boolean>): Promise<void> {
  await until(what, 60_000, async () => {
    child.suspend();
    let isDue = false;
    try {
      await settle(20);
      isDue = await isSo();
    } finally {
      if (!isDue) child.resume();
    }
    return isDue;
  });
  await child.kill();
}
