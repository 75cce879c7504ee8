import { type LimitCheck, type LimitKind, limitReached, planOf } from './limit-check';
import type { LimitScope } from './limit-keys';
import { formatDuration, rateLimitHeaders } from './limiter.service';

const check = (scope: LimitScope, kind: LimitKind, limit: number): LimitCheck => ({
  scope,
  kind,
  limit,
  redisKey: `${scope}:${kind}`,
  windowMs: kind === 'concurrency' ? 0 : 60_000,
});

it.each([
  [0, '0s'],
  [1, '1s'],
  [1_000, '1s'],
  [1_001, '2s'],
  [59_001, '1m0s'],
  [60_000, '1m0s'],
  [61_000, '1m1s'],
])('formats %d ms as %s', (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});

it.each<[LimitKind, number, string]>([
  ['requests_per_minute', 1, '1 request per minute'],
  ['tokens_per_minute', 2, '2 tokens per minute'],
  ['concurrency', 1, '1 request in flight'],
])('a refusal describes a limit of %s at %d', (kind, limit, description) => {
  const { message } = limitReached(check('key', kind, limit), 1_000);
  expect(message).toBe(`The limit of this API key is reached: ${description}.`);
});

describe('rateLimitHeaders', () => {
  it('report the limit with the least remaining; on a tie, the one that resets later', () => {
    const plan = planOf([
      check('key', 'requests_per_second', 10),
      check('key', 'requests_per_minute', 100),
      check('organization', 'requests_per_minute', 50),
    ]);
    expect(rateLimitHeaders(plan, [0, 0, 3, 900, 5, 60_000, 3, 40_000])).toEqual({
      'x-ratelimit-limit-requests': '50',
      'x-ratelimit-remaining-requests': '3',
      'x-ratelimit-reset-requests': '40s',
    });
  });

  it('do not report limits of models, of all callers, or of requests in flight', () => {
    const plan = planOf([
      check('key', 'concurrency', 1),
      check('model', 'requests_per_minute', 1),
      check('global', 'tokens_per_minute', 1),
    ]);
    expect(rateLimitHeaders(plan, [0, 0, 0, 0, 0, 60_000, 0, 60_000])).toEqual({});
  });
});
