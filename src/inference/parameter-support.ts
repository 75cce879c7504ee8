import type { RoutingDto } from '../models/routing/routing.dto';
import { SAMPLING_FIELDS } from '../providers/contract/chat';
import type { ModelFeatures } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import type { Candidate, InferenceInput } from './inference.types';

/** A request of any operation, as sent to providers. */
type ProviderRequest = Readonly<Record<string, unknown>>;

/** The candidate filter of `routing.require_parameters`; `undefined` when not set. */
export function requiredSupport(routing: RoutingDto | null, request: ProviderRequest): InferenceInput['supports'] {
  if (routing?.require_parameters !== true) return undefined;
  return (candidate) => supportsParameters(request, candidate);
}

/** The filter for requests that the candidate's provider itself refuses; `undefined` when not set. */
export function requiredAcceptance(
  routing: RoutingDto | null,
  assertSupportedBy: (candidate: Candidate) => void,
): InferenceInput['refuses'] {
  if (routing?.require_parameters !== true) return undefined;
  return (candidate) => {
    try {
      assertSupportedBy(candidate);
      return false;
    } catch (error) {
      if (error instanceof ProviderError) return true;
      throw error;
    }
  };
}

/**
 * Whether a candidate supports every parameter of a request (`routing.require_parameters`). A feature must be listed in
 * the catalogue; any other field is supported unless the deployment is known to reject or drop it.
 */
export function supportsParameters(request: ProviderRequest, { features, quirks, model }: Candidate): boolean {
  const { dropFields = [], rejectFields = [] } = quirks;
  for (const field in request) {
    if (!isUsed(field, request[field])) continue;
    if (dropFields.includes(field) || rejectFields.includes(field)) return false;
    if (!hasFeature(field, request[field], features)) return false;
  }
  const parts = partTypes(request);
  if (parts.has('image_url') && features.vision !== true) return false;
  if (parts.has('file') && !model.inputModalities.includes('pdf')) return false;
  return !parts.has('input_audio') || model.inputModalities.includes('audio');
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

/** The types of the parts of all messages. */
function partTypes({ messages }: ProviderRequest): ReadonlySet<unknown> {
  const contents = ((messages ?? []) as readonly { content?: unknown }[]).map(({ content }) => content);
  return new Set(
    contents.flatMap((content) =>
      Array.isArray(content) ? content.map((part: { type?: unknown } | null) => part?.type) : [],
    ),
  );
}
