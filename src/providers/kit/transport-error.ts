import { errors } from 'undici';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';

/**
 * A connection that failed. In phase `connect` nothing has been sent, so even work that must not be done twice may be
 * tried again; from `headers` on the upstream may have started, and billed, the work.
 */
export function transportFailure(phase: ProviderPhase, cause: unknown): ProviderError {
  switch (phase) {
    case 'connect':
      return new ProviderError('provider_unavailable', 'The provider could not be reached.', {
        phase,
        fallback: true,
        retrySame: true,
        cause,
      });
    case 'headers':
      return isProtocolViolation(cause)
        ? new ProviderError('provider_error', 'The provider sent an invalid answer.', { phase, fallback: true, cause })
        : new ProviderError('provider_unavailable', 'The provider closed the connection without an answer.', {
            phase,
            fallback: true,
            cause,
          });
    case 'first_token':
      return new ProviderError('provider_disconnect', 'The provider closed the connection before it had answered.', {
        phase,
        fallback: true,
        cause,
      });
    default:
      return new ProviderError('stream_interrupted', 'The connection to the provider failed.', {
        phase,
        fallback: false,
        cause,
      });
  }
}

/**
 * A time limit that has passed. In the middle of an answer that is an interruption like any other: `provider_timeout`
 * tells of a provider that did not answer, and that no fallback took its place (contract section 7).
 */
export function deadlineFailure(phase: ProviderPhase): ProviderError {
  if (phase === 'connect') {
    return new ProviderError('provider_unavailable', 'The provider could not be reached in time.', {
      phase,
      fallback: true,
      retrySame: true,
    });
  }
  if (phase === 'stream') {
    return new ProviderError('stream_interrupted', 'The provider did not go on with its answer in time.', {
      phase,
      fallback: false,
    });
  }
  return new ProviderError('provider_timeout', 'The provider did not respond in time.', { phase, fallback: true });
}

/** The call's signal was aborted: nobody reads this error, but every call has to end. */
export function cancellation(phase: ProviderPhase, reason: unknown): ProviderError {
  return new ProviderError('provider_disconnect', 'The call was cancelled.', { phase, fallback: false, cause: reason });
}

/** HTTP that cannot be parsed says something about the upstream, not about the network. */
function isProtocolViolation(cause: unknown): boolean {
  return cause instanceof errors.HTTPParserError || cause instanceof errors.HeadersOverflowError;
}
