import { choice, integer, matching, optional, secret } from './setting-kinds';

/** Metrics, probes, logs and traces. Their table is in the README of `core/observability`. */
export const OBSERVABILITY_SETTINGS = {
  MANAGEMENT_PORT: optional(integer(0, 65_535)).describe(
    'Port of metrics and probes for operators; 0 opens none. When not set 9464 in production, else 0',
  ),
  MANAGEMENT_TOKEN: optional(secret(16)).describe('Bearer token that reading the metrics requires; open when not set'),
  SHUTDOWN_DELAY_MS: optional(integer(0, 600_000)).describe(
    'How long a shutdown still accepts requests after /serving turned 503. When not set 5000 in production, else 0',
  ),
  LOG_REQUESTS: choice(['none', 'failures', 'all'])
    .default('failures')
    .describe('Which requests get a line request_ended: those that the gateway or a provider failed, or all'),
  BUILD_COMMIT: matching(/^[\w.-]{1,64}$/, 'a commit hash or tag')
    .default('unknown')
    .describe('Commit of this build, a label of gateway_build_info'),
};
