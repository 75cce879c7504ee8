import { ProviderError } from '../../contract/provider-error';

/** The upstream has answered with something else than what was asked for. */
export function notEmbeddings(what = 'an answer that is not a list of embeddings'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
