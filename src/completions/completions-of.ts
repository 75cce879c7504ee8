import { GatewayError } from '../common/errors/gateway-error';
import type { Candidate } from '../inference/inference.types';
import type { CompletionsProvider } from '../providers/contract/completions';
import { CompletionsOverChat } from './completions-over-chat';

/** Text completion of a candidate: its own where the catalogue says that the model has it, else by way of chat. */
export function completionsOf({ provider, features }: Candidate): CompletionsProvider {
  const { chat, completions } = provider;
  if (features.completions === true && completions !== undefined) return completions;
  if (chat === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve text.`);
  return new CompletionsOverChat(chat);
}
