import { GatewayError } from '../errors/gateway-error';
import { isUuid } from './require-uuid';

/** The type of a cursor part: a time as ISO 8601 with microseconds or less, a UUID, a non-negative integer. */
export type CursorPart = 'time' | 'uuid' | 'integer';

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z$/;
const INTEGER = /^\d{1,18}$/;
const MAX_LENGTH = 200;

/**
 * The start of the next page: the sort key of the last returned row. Opaque to clients; malformed cursors are refused,
 * and forged ones reach only rows that the client may read.
 */
export function encodeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(parts.join(' ')).toString('base64url');
}

/** @throws GatewayError `validation_failed` with `param: "cursor"`. */
export function decodeCursor(text: string, shape: readonly CursorPart[]): string[] {
  const parts = text.length > MAX_LENGTH ? [] : Buffer.from(text, 'base64url').toString().split(' ');
  if (parts.length === shape.length && shape.every((part, index) => fits(part, parts[index] as string))) return parts;
  throw new GatewayError('validation_failed', 'cursor must be the next_cursor of an earlier reply.', {
    param: 'cursor',
  });
}

function fits(part: CursorPart, text: string): boolean {
  if (part === 'uuid') return isUuid(text);
  if (part === 'integer') return INTEGER.test(text);
  return TIME.test(text) && isCalendarTime(text);
}

/** `Date` reads 30 February as 2 March and accepts year 0; the database refuses both. */
function isCalendarTime(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && !text.startsWith('0000') && new Date(ms).toISOString().startsWith(text.slice(0, 10));
}
