import { ApiError } from './errors';

/** A mistake in a field that the page finds by itself, in the form of a refusal of the API. */
export function fieldError(param: string, message: string): ApiError {
  return new ApiError(0, { code: 'validation_failed', message, param }, false);
}
