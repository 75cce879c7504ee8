import { integer, optional } from './setting-kinds';

const limit = integer(1, 2 ** 31 - 1);

/** Global rate limits, and the defaults for keys and organizations. */
export const LIMIT_SETTINGS = {
  LIMIT_GLOBAL_REQUESTS_PER_SECOND: optional(limit).describe(
    'Requests per second of all callers together; unlimited when not set',
  ),
  LIMIT_GLOBAL_REQUESTS_PER_MINUTE: optional(limit).describe(
    'Requests per minute of all callers together; unlimited when not set',
  ),
  LIMIT_GLOBAL_TOKENS_PER_MINUTE: optional(limit).describe(
    'Tokens per minute of all callers together; unlimited when not set',
  ),
  LIMIT_GLOBAL_CONCURRENCY: optional(limit).describe(
    'Requests in flight of all callers together; unlimited when not set',
  ),
  LIMIT_KEY_REQUESTS_PER_SECOND: optional(limit).describe('Requests per second of each key without a limit of its own'),
  LIMIT_KEY_REQUESTS_PER_MINUTE: optional(limit).describe('Requests per minute of each key without a limit of its own'),
  LIMIT_KEY_TOKENS_PER_MINUTE: optional(limit).describe('Tokens per minute of each key without a limit of its own'),
  LIMIT_KEY_CONCURRENCY: optional(limit).describe('Requests in flight of each key without a limit of its own'),
  LIMIT_KEY_READS_PER_SECOND: integer(1, 1_000_000)
    .default(50)
    .describe('GET and DELETE requests per second of each key; they count against no other limit'),
  LIMIT_ORGANIZATION_REQUESTS_PER_SECOND: optional(limit).describe(
    'Requests per second of each organization without a limit of its own',
  ),
  LIMIT_ORGANIZATION_REQUESTS_PER_MINUTE: optional(limit).describe(
    'Requests per minute of each organization without a limit of its own',
  ),
  LIMIT_ORGANIZATION_TOKENS_PER_MINUTE: optional(limit).describe(
    'Tokens per minute of each organization without a limit of its own',
  ),
  LIMIT_ORGANIZATION_CONCURRENCY: optional(limit).describe(
    'Requests in flight of each organization without a limit of its own',
  ),
};
