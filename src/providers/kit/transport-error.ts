import { errors } from 'undici';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';

/**
 * A failed connection. In phase `connect` nothing has been sent, so even non-idempotent work may be retried; from
 * `headers` on the upstream may have started, and billed, the work.
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
        ? new ProviderError('provider_error', 'The provider sent an invalid response.', {
            phase,
            fallback: true,
            outcomeUnknown: true,
            cause,
          })
        : new ProviderError('provider_unavailable', 'The provider closed the connection without a response.', {
            phase,
            fallback: true,
            outcomeUnknown: true,
            cause,
          });
    case 'first_token':
      return new ProviderError(
        'provider_disconnect',
        'The provider closed the connection before the response was complete.',
        {
          phase,
          fallback: true,
          outcomeUnknown: true,
          cause,
        },
      );
    default:
      return new ProviderError('stream_interrupted', 'The connection to the provider failed.', {
        phase,
        fallback: false,
        cause,
      });
  }
}

/**
 * An expired time limit. In the middle of a response it is an interruption like any other: `provider_timeout` means
 * that the provider did not respond and no fallback took over.
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
    return new ProviderError('stream_interrupted', 'The provider stopped responding in the middle of the response.', {
      phase,
      fallback: false,
    });
  }
  return new ProviderError('provider_timeout', 'The provider did not respond in time.', {
    phase,
    fallback: true,
    outcomeUnknown: true,
  });
}

/** The call's signal was aborted: the error is not read, but every call has to end. */
export function cancellation(phase: ProviderPhase, reason: unknown): ProviderError {
  return new ProviderError('provider_disconnect', 'The call was cancelled.', {
    phase,
    fallback: false,
    outcomeUnknown: phase !== 'connect',
    cause: reason,
  });
}

/** Unparsable HTTP is a fault of the upstream, not of the network. */
function isProtocolViolation(cause: unknown): boolean {
  return cause instanceof errors.HTTPParserError || cause instanceof errors.HeadersOverflowError;
}
