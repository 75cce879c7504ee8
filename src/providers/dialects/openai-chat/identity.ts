import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../core/time/clock';

/** For upstreams that omit the required id. */
function makeCompletionId(): string {
  return `chatcmpl-${randomBytes(15).toString('base64url')}`;
}

export function makeToolCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}

/** The upstream's `created`, else the current time; in seconds. */
export function toCreated(created: unknown): number {
  return typeof created === 'number' && Number.isSafeInteger(created) ? created : Math.floor(systemClock.now() / 1000);
}

export function toId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : makeCompletionId();
}
