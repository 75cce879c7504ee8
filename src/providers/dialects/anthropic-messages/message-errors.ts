import { ProviderError } from '../../contract/provider-error';

/** Matches refusals of thinking that was sent back. */
const THINKING = /\bthinking\b.*\bblock|\bsignature\b|bound to a different/i;

/** Whether the upstream refuses the thinking in the request; only the text of its error says so. */
export function isThinkingRefused(error: unknown): error is ProviderError {
  if (!(error instanceof ProviderError) || error.code !== 'validation_failed') return false;
  const { upstream, details } = error.options;
  const message = details?.['provider_message'];
  return upstream?.status === 400 && typeof message === 'string' && THINKING.test(message);
}

/** The client did not send the thinking, so the error is not the client's; the next attempt goes without thinking. */
export function thinkingRefused(error: ProviderError): ProviderError {
  const { phase, upstream } = error.options;
  return new ProviderError('provider_error', 'The provider refused the reasoning of an earlier answer.', {
    phase,
    fallback: true,
    retrySame: true,
    upstream,
    cause: error,
  });
}
