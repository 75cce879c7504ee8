import { limit } from './setting';

/** How fast everybody together may ask, and keys and organizations that set no limits themselves. */
export const LIMIT_SETTINGS = {
  globalRequestsPerSecond: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_SECOND',
    'Requests per second of everybody together; not limited when not set',
  ),
  globalRequestsPerMinute: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_MINUTE',
    'Requests per minute of everybody together; not limited when not set',
  ),
  globalTokensPerMinute: limit(
    'LIMIT_GLOBAL_TOKENS_PER_MINUTE',
    'Tokens per minute of everybody together; not limited when not set',
  ),
  globalConcurrency: limit(
    'LIMIT_GLOBAL_CONCURRENCY',
    'Requests in flight of everybody together; not limited when not set',
  ),
  keyRequestsPerSecond: limit(
    'LIMIT_KEY_REQUESTS_PER_SECOND',
    'Requests per second of each key that sets no limit itself',
  ),
  keyRequestsPerMinute: limit(
    'LIMIT_KEY_REQUESTS_PER_MINUTE',
    'Requests per minute of each key that sets no limit itself',
  ),
  keyTokensPerMinute: limit('LIMIT_KEY_TOKENS_PER_MINUTE', 'Tokens per minute of each key that sets no limit itself'),
  keyConcurrency: limit('LIMIT_KEY_CONCURRENCY', 'Requests in flight of each key that sets no limit itself'),
  organizationRequestsPerSecond: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_SECOND',
    'Requests per second of each organization that sets no limit itself',
  ),
  organizationRequestsPerMinute: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_MINUTE',
    'Requests per minute of each organization that sets no limit itself',
  ),
  organizationTokensPerMinute: limit(
    'LIMIT_ORGANIZATION_TOKENS_PER_MINUTE',
    'Tokens per minute of each organization that sets no limit itself',
  ),
  organizationConcurrency: limit(
    'LIMIT_ORGANIZATION_CONCURRENCY',
    'Requests in flight of each organization that sets no limit itself',
  ),
};
