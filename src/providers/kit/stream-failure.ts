import { ProviderError } from '../contract/provider-error';

/**
 * Codes that a client may see for a failure in mid-stream; all others become `stream_interrupted`.
 */
const STREAM_FAILURES: ReadonlySet<string> = new Set(['stream_interrupted', 'provider_disconnect']);

/** A failure after the first token can no longer be an HTTP status, and failover is no longer possible. */
export function toStreamFailure(error: ProviderError): ProviderError {
  if (error.options.phase === 'stream' && STREAM_FAILURES.has(error.code)) return error;
  return new ProviderError('stream_interrupted', 'The provider failed in the middle of the response.', {
    phase: 'stream',
    fallback: false,
    upstream: error.options.upstream,
    credentialRefused: error.options.credentialRefused,
    cause: error,
  });
}
