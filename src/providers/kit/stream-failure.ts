import { ProviderError } from '../contract/provider-error';

/** What a client may see of a failure in mid-stream; anything else is `stream_interrupted` (contract section 7). */
const STREAM_FAILURES: ReadonlySet<string> = new Set(['stream_interrupted', 'provider_disconnect']);

/** A failure after the first token cannot be an HTTP status any more, and no other provider can take over. */
export function toStreamFailure(error: ProviderError): ProviderError {
  if (error.options.phase === 'stream' && STREAM_FAILURES.has(error.code)) return error;
  return new ProviderError('stream_interrupted', 'The provider failed in the middle of the answer.', {
    phase: 'stream',
    fallback: false,
    upstream: error.options.upstream,
    credentialRefused: error.options.credentialRefused,
    cause: error,
  });
}
