import type { EmbeddingRequest } from '../../contract/embeddings';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { forwardedFields } from '../openai-chat/forwarded-fields';
import { checkNoRejectedFields, unsupported } from '../openai-chat/request-support';

/** Set below; `encoding_format` depends on the upstream, not on the client. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format']);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support
 */
export function toOpenAiEmbeddingRequest(request: EmbeddingRequest, call: ProviderCall): JsonObject {
  checkEmbeddingSupport(request, call);
  const { quirks, upstreamModel } = call;
  const { input, dimensions } = request;
  return {
    model: upstreamModel,
    input,
    ...(dimensions != null && { dimensions }),
    ...(quirks.plainEmbeddings !== true && { encoding_format: 'base64' }),
    ...forwardedFields(request, HANDLED_FIELDS, quirks),
  };
}

/** @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support */
export function checkEmbeddingSupport(request: EmbeddingRequest, { features, quirks }: DeploymentTraits): void {
  if (request.dimensions != null && features.dimensions === false) throw unsupported('dimensions');
  checkNoRejectedFields(request, quirks);
}
