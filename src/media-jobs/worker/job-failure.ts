import { ProviderError, REPLY_TOO_LONG, SUCCESS_WITHOUT_RESULT } from '../../providers/contract/provider-error';
import type { JobError } from '../media-job.types';

/** Wraps an unexpected adapter error as a `ProviderError`. */
export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError('provider_error', 'The provider failed in an unexpected way.', {
    phase: 'job',
    fallback: false,
    cause: error,
  });
}

/**
 * The error that clients see. The gateway writes these messages; jobs have no `details`, so messages cannot refer to
 * them.
 */
export function toJobError({ code, message }: ProviderError): JobError {
  return {
    code: code === 'stream_interrupted' ? 'provider_disconnect' : code,
    message: message.replace(/; see details\.$/, '.'),
  };
}

/** Whether the provider does not know the job, which may be transient. */
export function isGone({ options }: ProviderError): boolean {
  const status = options.upstream?.status;
  return status === 404 || status === 410;
}

/** Whether the provider's result is longer than the gateway reads. */
export function isTooLong({ options }: ProviderError): boolean {
  return options.upstream?.code === REPLY_TOO_LONG;
}

/** Whether the provider reports success without a result, which may have expired. */
export function isWithoutResult({ options }: ProviderError): boolean {
  const isModerated = options.details?.['reason'] === 'content_filtered';
  return options.upstream?.code === SUCCESS_WITHOUT_RESULT && !isModerated;
}

export const NO_RESULT: JobError = {
  code: 'provider_error',
  message: 'The provider reported success, but its result could not be obtained.',
};
export const TOO_LARGE: JobError = {
  code: 'provider_error',
  message: "The provider's result exceeds the gateway's size limit.",
};
export const JOB_UNKNOWN_TO_PROVIDER: JobError = {
  code: 'provider_error',
  message: 'The provider no longer knows this job.',
};
export const INVALID_PROVIDER_HANDLE: JobError = {
  code: 'provider_error',
  message: 'The provider returned a job id that cannot be stored. The job was abandoned and nothing was charged.',
};
export const UNKNOWN_SUBMISSION: JobError = {
  code: 'provider_error',
  message: 'It is unknown whether the provider accepted the job. The job was abandoned and nothing was charged.',
};
export const NO_PROVIDER_ACCEPTED: JobError = {
  code: 'no_provider_available',
  message: 'No provider accepted the job in time.',
};
