import type { CompletionRequest } from '../../contract/completions';
import type { ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { forwardedFields } from '../openai-chat/forwarded-fields';

/** Set below, or not forwarded because the gateway offers only one choice. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'max_tokens',
  'n',
  'best_of',
  'stream',
  'stream_options',
]);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this upstream does not support
 */
export function toOpenAiCompletionRequest(
  request: CompletionRequest,
  { quirks, upstreamModel }: ProviderCall,
  stream: boolean,
): JsonObject {
  const { prompt, max_tokens } = request;
  return {
    model: upstreamModel,
    prompt,
    max_tokens,
    ...forwardedFields(request, HANDLED_FIELDS, quirks),
    ...(stream && { stream }),
    ...(stream && quirks.streamUsage !== 'none' && { stream_options: { include_usage: true } }),
  };
}
