import { InvalidArgumentError } from 'commander';
import { MAX_MICRO, type Micro } from '../core/types/micro';
import { ROLES, type Role } from '../core/types/role';

/** Parsers of option values. Their errors are printed with the name of the option, with exit code 2. */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** PostgreSQL has no year 0. */
const DAY = /^(?!0000)\d{4}-\d{2}-\d{2}$/;
const TIME = /^(?!0000)\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

export function parseId(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError('Expected a UUID.');
  return text.toLowerCase();
}

export function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Expected non-empty text.');
  return text;
}

/** The limit of the dashboard API: the reference of an entry is part of an index. */
const MAX_REFERENCE_LENGTH = 200;

export function parseReference(text: string): string {
  if (text.length > MAX_REFERENCE_LENGTH) {
    throw new InvalidArgumentError(`Expected at most ${MAX_REFERENCE_LENGTH} characters.`);
  }
  return parseText(text);
}

/** Micro-units: 1 USD is 1000000. */
export function parseAmount(text: string): Micro {
  const amount = /^\d{1,16}$/.test(text) ? BigInt(text) : -1n;
  if (amount < 0n || amount > MAX_MICRO) {
    throw new InvalidArgumentError(`Expected an integer from 0 to ${MAX_MICRO}, in micro-units (1 USD is 1000000).`);
  }
  return amount;
}

export function parsePositiveAmount(text: string): Micro {
  const amount = parseAmount(text);
  if (amount === 0n) throw new InvalidArgumentError('Expected a value greater than 0.');
  return amount;
}

/** An amount, or `none`: as text, because commander treats `null` as absent. */
export function parseAmountOrNone(text: string): Micro | 'none' {
  return text === 'none' ? text : parseAmount(text);
}

export function parseInteger(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

/** A whole number, or `none`: as text, because commander treats `null` as absent. */
export function parseIntegerOrNone(text: string): number | 'none' {
  return text === 'none' ? text : parseInteger(text);
}

/** `2030-01-31` (midnight UTC) or `2030-01-31T12:00:00Z`; a time of day needs a time zone. */
export function parseTime(text: string): Date {
  const time = new Date(TIME.test(text) ? text : Number.NaN);
  if (Number.isNaN(time.getTime()) || !isCalendarDay(text.slice(0, 10))) {
    throw new InvalidArgumentError('Expected a date or time such as 2030-01-31 or 2030-01-31T12:00:00Z.');
  }
  return time;
}

/** A UTC day, `2030-01-31`. */
export function parseDay(text: string): string {
  if (!DAY.test(text) || Number.isNaN(Date.parse(text)) || !isCalendarDay(text)) {
    throw new InvalidArgumentError('Expected a date such as 2030-01-31.');
  }
  return text;
}

/** A time, or `none`. */
export function parseTimeOrNone(text: string): Date | 'none' {
  return text === 'none' ? text : parseTime(text);
}

/** `Date` parses 30 February as 2 March. */
function isCalendarDay(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

/** Comma-separated values. */
export function parseList(text: string): string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.includes('')) throw new InvalidArgumentError('Expected comma-separated values.');
  return entries;
}

/** Comma-separated values, or `none`. */
export function parseListOrNone(text: string): string[] | 'none' {
  return text === 'none' ? text : parseList(text);
}

export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new InvalidArgumentError(`Expected one of: ${ROLES.join(', ')}.`);
  return role;
}
