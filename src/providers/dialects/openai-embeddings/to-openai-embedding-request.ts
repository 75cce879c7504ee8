import type { EmbeddingRequest } from '../../contract/embeddings';
import type { ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { forwardedFields, unsupported } from '../openai-chat/forwarded-fields';

/** Written below; `encoding_format` is agreed with the upstream, whatever the client wants. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format']);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for what this model or upstream cannot do
 */
export function toOpenAiEmbeddingRequest(request: EmbeddingRequest, call: ProviderCall): JsonObject {
  const { quirks, features, upstreamModel } = call;
  const { input, dimensions } = request;
  if (dimensions != null && features.dimensions === false) throw unsupported('dimensions');
  return {
    model: upstreamModel,
    input,
    ...(dimensions != null && { dimensions }),
    ...(quirks.plainEmbeddings !== true && { encoding_format: 'base64' }),
    ...forwardedFields(request, HANDLED_FIELDS, quirks),
  };
}
