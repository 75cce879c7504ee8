import type { Clock } from '../../../core/time/clock';
import type { CallTimer } from './call-timer';
import type { Script } from './script';
import { refusalOf, replyFaultOf } from './scripted-fault';

/**
 * Waits for the scripted time.
 * @param replyMs Additional silence while the reply is being made.
 * @throws ProviderError if an error status is scripted.
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

/** The same for a whole reply, which may also be interrupted. */
export async function untilReply(script: Script, timer: CallTimer, clock: Clock, replyMs: number): Promise<void> {
  await untilFirstByte(script, timer, clock, replyMs);
  const fault = replyFaultOf(script);
  if (fault !== null) {
    throw fault;
  }
}
