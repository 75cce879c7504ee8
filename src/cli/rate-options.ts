import type { Command } from 'commander';
import type { RateLimits } from '../core/types/rate-limits';
import { parseIntegerOrNone } from './option-parsers';

/** Rate limit options; absent ones are `undefined`. */
export interface RateOptions<Value> {
  readonly rps?: Value;
  readonly rpm?: Value;
  readonly tpm?: Value;
  readonly concurrency?: Value;
}

/** Adds the options of a command that changes limits. */
export function addRateChanges(command: Command): Command {
  return command
    .option('--rps <count>', 'requests per second, or "none"', parseIntegerOrNone)
    .option('--rpm <count>', 'requests per minute, or "none"', parseIntegerOrNone)
    .option('--tpm <count>', 'tokens per minute, or "none"', parseIntegerOrNone)
    .option('--concurrency <count>', 'requests in flight, or "none"', parseIntegerOrNone);
}

/** Only the given limits. */
export function toRateLimits({ rps, rpm, tpm, concurrency }: RateOptions<number | 'none'>): Partial<RateLimits> {
  return {
    ...(rps !== undefined && { requestsPerSecond: noneToNull(rps) }),
    ...(rpm !== undefined && { requestsPerMinute: noneToNull(rpm) }),
    ...(tpm !== undefined && { tokensPerMinute: noneToNull(tpm) }),
    ...(concurrency !== undefined && { concurrency: noneToNull(concurrency) }),
  };
}

export function noneToNull<Value>(value: Value | 'none'): Value | null {
  return value === 'none' ? null : value;
}

/** Limits as text, for `formatFields`. */
export function rateFields(limits: RateLimits): [name: string, value: string][] {
  return [
    ['Requests per second', formatLimit(limits.requestsPerSecond)],
    ['Requests per minute', formatLimit(limits.requestsPerMinute)],
    ['Tokens per minute', formatLimit(limits.tokensPerMinute)],
    ['Requests in flight', formatLimit(limits.concurrency)],
  ];
}

function formatLimit(limit: number | null): string {
  return limit === null ? 'not limited' : String(limit);
}
