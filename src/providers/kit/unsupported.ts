import { ProviderError } from '../contract/provider-error';
import type { SpeechRequest } from '../contract/speech';

/** Refused before anything is sent, so failover to another deployment is possible. */
export function unsupported(param: string, message = `This model does not support ${param}.`): ProviderError {
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}

/** For speech by models that know neither a speed nor instructions. @throws ProviderError `validation_failed` */
export function refuseStyle({ speed, instructions }: SpeechRequest): void {
  if (speed !== null && speed !== 1) throw unsupported('speed');
  if (instructions !== null) throw unsupported('instructions');
}
