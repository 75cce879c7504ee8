import { baseUrl, choice, integer, matching, optional, secret } from './setting-kinds';

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
    .describe(
      'Which requests get a line request_ended: those that the gateway or a provider failed, or all. Refusals of an overload get none',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(baseUrl).describe(
    'Collector of OpenTelemetry, such as http://127.0.0.1:4318; without it nothing is traced',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(baseUrl).describe(
    'Where spans go; when not set /v1/traces at the collector',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(secret()).describe(
    'Headers for the collector, as name=value separated by commas',
  ),
  OTEL_SERVICE_NAME: matching(/^[\w.-]{1,128}$/, 'a name')
    .default('inference-gateway')
    .describe('Name of this service in traces'),
  OTEL_RESOURCE_ATTRIBUTES: optional(
    matching(/^[^\s=,]+=[^\s=,]*(?:,[^\s=,]+=[^\s=,]*)*$/, 'name=value pairs separated by commas'),
  ).describe('Further attributes of this process, as name=value separated by commas'),
  OTEL_TRACES_SAMPLER_ARG: matching(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, 'a number from 0 to 1')
    .default('0.01')
    .describe('Share of the requests that are traced, where the caller does not decide'),
  GENAI_SEMCONV: choice(['1.41', 'latest'])
    .default('latest')
    .describe('Version of the conventions that name the attributes of model calls'),
  TRACE_PROPAGATE_TO: optional(matching(/^[\w-]+(?:,[\w-]+)*$/, 'ids of providers separated by commas')).describe(
    'Ids of providers that get the traceparent header, such as a vLLM of your own, separated by commas',
  ),
  BUILD_COMMIT: matching(/^[\w.-]{1,64}$/, 'a commit hash or tag')
    .default('unknown')
    .describe('Commit of this build, a label of gateway_build_info'),
};
