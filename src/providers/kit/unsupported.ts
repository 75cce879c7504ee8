import { ProviderError } from '../contract/provider-error';

/** Refused before anything is sent, so failover to another deployment is possible. */
export function unsupported(param: string, message = `This model does not support ${param}.`): ProviderError {
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}
