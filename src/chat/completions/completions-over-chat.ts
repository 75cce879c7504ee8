import { RenderedStream } from '../chat-chunks';
import type { ChatProvider, ChunkStream } from '../../providers/contract/chat';
import type { CompletionRequest, CompletionResult, CompletionsProvider } from '../../providers/contract/completions';
import type { DeploymentTraits, ProviderCall } from '../../providers/contract/provider-call';
import { completionChunks } from './from-chat-events';
import { fromChatReply } from './from-chat-reply';
import { toChatRequest } from './to-chat-request';

/** Text completion over a chat-only model: the prompt is the user message, the reply is the completion. */
export class CompletionsOverChat implements CompletionsProvider {
  constructor(private readonly chat: ChatProvider) {}

  assertSupported(request: CompletionRequest, deployment: DeploymentTraits): void {
    const chat = toChatRequest(request);
    this.chat.assertSupported?.(chat, deployment);
  }

  async complete(request: CompletionRequest, call: ProviderCall): Promise<CompletionResult> {
    const { body, usage, outputBytes } = await this.chat.complete(toChatRequest(request), call);
    return { body: fromChatReply(body, request), usage, outputBytes };
  }

  async openStream(request: CompletionRequest, call: ProviderCall): Promise<ChunkStream> {
    const stream = await this.chat.openStream(toChatRequest(request), call);
    return new RenderedStream(stream, completionChunks(request, call.publicModel));
  }
}
