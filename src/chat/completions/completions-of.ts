import { GatewayError } from '../../core/errors/gateway-error';
import type { Candidate } from '../../inference/inference.types';
import type { CompletionsProvider } from '../../providers/contract/completions';
import { CompletionsOverChat } from './completions-over-chat';

/** The candidate's native text completion if the catalogue lists it, else completion over chat. */
export function completionsOf({ provider, features }: Candidate): CompletionsProvider {
  const { chat, completions } = provider;
  if (features.completions === true && completions !== undefined) return completions;
  if (chat === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve text.`);
  return new CompletionsOverChat(chat);
}
