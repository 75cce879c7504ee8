/** Header fields of a reply, names in lower case. */
type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

const LONGEST_SECONDS = 3600;
/** Start of an HTTP date: `Date.parse` accepts nearly any text ("in 5 minutes" is a date in 2001). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * The wait requested by a server: `retry-after-ms`, or `Retry-After` as seconds or an HTTP date.
 * @param now milliseconds since the epoch
 * @returns an integer of 1 to 3600, or `undefined` when the headers are missing or invalid
 */
export function parseRetryAfter(headers: ReplyHeaders, now: number): number | undefined {
  const milliseconds = toNumber(headers['retry-after-ms']);
  if (milliseconds !== undefined) return clampSeconds(milliseconds / 1000);

  const value = headers['retry-after'];
  const seconds = toNumber(value);
  if (seconds !== undefined) return clampSeconds(seconds);
  if (typeof value !== 'string' || !HTTP_DATE.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : clampSeconds((date - now) / 1000);
}

function toNumber(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function clampSeconds(seconds: number): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), LONGEST_SECONDS);
}
