import { ProviderError } from '../../providers/contract/provider-error';
import type { JobError } from '../media-job.types';

/** The failure as a provider error: providers throw nothing else, and what they do throw is nobody's fault but theirs. */
export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError('provider_error', 'The provider failed in an unexpected way.', {
    phase: 'job',
    fallback: false,
    cause: error,
  });
}

/** What a client is told of it. Messages of provider errors are our own words; a job has no details that they could name. */
export function toJobError({ code, message }: ProviderError): JobError {
  return {
    code: code === 'stream_interrupted' ? 'provider_disconnect' : code,
    message: message.replace(/; see details\.$/, '.'),
  };
}

/** The provider does not know the job, which may be a moment's weakness. */
export function isGone({ options }: ProviderError): boolean {
  const status = options.upstream?.status;
  return status === 404 || status === 410;
}

export const NO_RESULT: JobError = {
  code: 'provider_error',
  message: 'The provider reported success, but its result could not be obtained.',
};
export const TOO_LARGE: JobError = {
  code: 'provider_error',
  message: 'The result of the provider is larger than this gateway takes.',
};
export const FORGOTTEN: JobError = { code: 'provider_error', message: 'The provider has lost the job.' };
export const UNKEEPABLE: JobError = {
  code: 'provider_error',
  message: 'The provider accepted the job under a name that cannot be kept, so it was given up. Nothing was charged.',
};
export const UNKNOWN_SUBMISSION: JobError = {
  code: 'provider_error',
  message: 'It is not known whether the provider accepted the job, so it was given up. Nothing was charged.',
};
export const NOBODY_ACCEPTS: JobError = {
  code: 'no_provider_available',
  message: 'No provider has accepted the job in time.',
};
