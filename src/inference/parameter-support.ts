import type { ModelFeatures } from '../providers/contract/provider-call';
import type { RoutingDto } from '../models/routing/routing.dto';
import type { Candidate, InferenceInput } from './inference.types';

/** A request of any operation, as sent to providers. */
type ProviderRequest = Readonly<Record<string, unknown>>;

const SAMPLING_FIELDS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'presence_penalty',
  'frequency_penalty',
]);

/** The candidate filter of `routing.require_parameters`; `undefined` when not set. */
export function requiredSupport(routing: RoutingDto | null, request: ProviderRequest): InferenceInput['supports'] {
  if (routing?.require_parameters !== true) return undefined;
  return (candidate) => supportsParameters(request, candidate);
}

/**
 * Whether a candidate supports every parameter of a request (`routing.require_parameters`). A feature must be listed in
 * the catalogue; any other field is supported unless the deployment is known to reject or drop it.
 */
export function supportsParameters(request: ProviderRequest, { features, quirks }: Candidate): boolean {
  const { dropFields = [], rejectFields = [] } = quirks;
  for (const field in request) {
    if (!isUsed(field, request[field])) continue;
    if (dropFields.includes(field) || rejectFields.includes(field)) return false;
    if (!hasFeature(field, request[field], features)) return false;
  }
  return features.vision === true || !hasImages(request);
}

function hasFeature(field: string, value: unknown, features: ModelFeatures): boolean {
  switch (field) {
    case 'tools':
    case 'functions':
      return features.tools === true;
    case 'parallel_tool_calls':
      return value === false || features.parallel_tools === true;
    case 'logprobs':
    case 'top_logprobs':
      return features.logprobs === true;
    case 'dimensions':
      return features.dimensions === true;
    case 'suffix':
      return features.completions === true;
    case 'response_format':
      return hasFormat((value as { type?: unknown }).type, features);
    case 'reasoning_effort':
      return features.reasoning?.includes(String(value)) === true;
    default:
      return features.sampling !== false || !SAMPLING_FIELDS.has(field);
  }
}

function hasFormat(type: unknown, features: ModelFeatures): boolean {
  if (type === 'json_schema') return features.json_schema === true;
  return type !== 'json_object' || features.json_object === true;
}

/** Whether a field value requests anything. */
function isUsed(field: string, value: unknown): boolean {
  if (value === false) return field === 'parallel_tool_calls';
  return value != null && !(Array.isArray(value) && value.length === 0);
}

function hasImages({ messages }: ProviderRequest): boolean {
  return ((messages ?? []) as readonly { content?: unknown }[]).some(
    ({ content }) =>
      Array.isArray(content) && content.some((part: { type?: unknown } | null) => part?.type === 'image_url'),
  );
}
