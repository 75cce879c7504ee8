import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../common/clock';

/** For upstreams that leave out what the format requires. */
export function makeCompletionId(): string {
  return `chatcmpl-${randomBytes(15).toString('base64url')}`;
}

export function makeToolCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}

/** `created` as the upstream gave it, else now; in seconds. */
export function toCreated(created: unknown): number {
  return typeof created === 'number' && Number.isSafeInteger(created) ? created : Math.floor(systemClock.now() / 1000);
}

export function toId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : makeCompletionId();
}
