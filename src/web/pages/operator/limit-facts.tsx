import type { ReactNode } from 'react';
import { formatCount } from '../../format/count';
import { Amount } from '../../ui/amount';

interface RateLimits {
  readonly requests_per_second: number | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrency: number | null;
}

type Fact = readonly [label: string, value: ReactNode];

/** The rate limits of an organization or a model, for `Facts`. */
export function rateLimitFacts(limits: RateLimits): readonly Fact[] {
  return [
    ['Requests per second', countFact(limits.requests_per_second)],
    ['Requests per minute', countFact(limits.requests_per_minute)],
    ['Tokens per minute', countFact(limits.tokens_per_minute)],
    ['Requests in flight', countFact(limits.concurrency)],
  ];
}

function countFact(limit: number | null): ReactNode {
  return limit === null ? <span className="text-muted">none</span> : formatCount(limit);
}

/** @param none what applies without a limit */
export function amountFact(limit: number | null, none: string): ReactNode {
  return limit === null ? <span className="text-muted">{none}</span> : <Amount micro={limit} />;
}
