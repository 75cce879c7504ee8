import { ProviderError, type ProviderErrorOptions } from '../contract/provider-error';

/** Refused before anything is sent, so failover to another deployment is possible. */
export function unsupported(param: string, message = `This model does not support ${param}.`): ProviderError {
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}

/** The upstream's account does not have the requested voice. */
export function unknownVoice(options: ProviderErrorOptions): ProviderError {
  const message = 'The provider does not have this voice.';
  return new ProviderError('validation_failed', message, { ...options, fallback: false, param: 'voice' });
}
