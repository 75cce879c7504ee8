import { integer, limit } from './setting';

/** Global rate limits, and the defaults for keys and organizations. */
export const LIMIT_SETTINGS = {
  globalRequestsPerSecond: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_SECOND',
    'Requests per second of all callers together; unlimited when not set',
  ),
  globalRequestsPerMinute: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_MINUTE',
    'Requests per minute of all callers together; unlimited when not set',
  ),
  globalTokensPerMinute: limit(
    'LIMIT_GLOBAL_TOKENS_PER_MINUTE',
    'Tokens per minute of all callers together; unlimited when not set',
  ),
  globalConcurrency: limit(
    'LIMIT_GLOBAL_CONCURRENCY',
    'Requests in flight of all callers together; unlimited when not set',
  ),
  keyRequestsPerSecond: limit(
    'LIMIT_KEY_REQUESTS_PER_SECOND',
    'Requests per second of each key without a limit of its own',
  ),
  keyRequestsPerMinute: limit(
    'LIMIT_KEY_REQUESTS_PER_MINUTE',
    'Requests per minute of each key without a limit of its own',
  ),
  keyTokensPerMinute: limit('LIMIT_KEY_TOKENS_PER_MINUTE', 'Tokens per minute of each key without a limit of its own'),
  keyConcurrency: limit('LIMIT_KEY_CONCURRENCY', 'Requests in flight of each key without a limit of its own'),
  keyReadsPerSecond: integer(
    'LIMIT_KEY_READS_PER_SECOND',
    { min: 1, max: 1_000_000, fallback: 50 },
    'GET and DELETE requests per second of each key; they count against no other limit',
  ),
  organizationRequestsPerSecond: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_SECOND',
    'Requests per second of each organization without a limit of its own',
  ),
  organizationRequestsPerMinute: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_MINUTE',
    'Requests per minute of each organization without a limit of its own',
  ),
  organizationTokensPerMinute: limit(
    'LIMIT_ORGANIZATION_TOKENS_PER_MINUTE',
    'Tokens per minute of each organization without a limit of its own',
  ),
  organizationConcurrency: limit(
    'LIMIT_ORGANIZATION_CONCURRENCY',
    'Requests in flight of each organization without a limit of its own',
  ),
};
