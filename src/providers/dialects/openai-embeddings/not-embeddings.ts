import { ProviderError } from '../../contract/provider-error';

/** The upstream responded with something other than embeddings. */
export function notEmbeddings(what = 'a response that is not a list of embeddings'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
