import type { Clock } from '../../../common/clock';
import type { CallTimer } from './call-timer';
import type { Script } from './script';
import { refusalOf, replyFaultOf } from './scripted-fault';

/**
 * Waits as long as the script says.
 * @param replyMs Silence that comes on top, while the reply is being made.
 * @throws ProviderError if the upstream is to answer with an error status.
 */
export async function untilFirstByte(script: Script, timer: CallTimer, clock: Clock, replyMs: number): Promise<void> {
  if (script.hang) {
    await timer.wait(Infinity, 'headers');
  }
  const waitMs = (script.firstTokenMs ?? 0) + replyMs;
  if (waitMs > 0) {
    await timer.wait(waitMs, 'first_token');
  }
  const refusal = refusalOf(script, clock.now());
  if (refusal !== null) {
    throw refusal;
  }
}

/** The same for a reply that is read whole: it may also break off. */
export async function untilReply(script: Script, timer: CallTimer, clock: Clock, replyMs: number): Promise<void> {
  await untilFirstByte(script, timer, clock, replyMs);
  const fault = replyFaultOf(script);
  if (fault !== null) {
    throw fault;
  }
}
