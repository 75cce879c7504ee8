/**
 * Dialect `openai-chat`: `POST …/chat/completions` as most vendors implement it, each with deviations (`Quirks`). One
 * file per direction: `chat-request`, `chat-reply`, `chat-stream`. This folder depends on no vendor, and only this
 * folder knows the wire format.
 */
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream, ChunkStream } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import type { StreamRequest } from '../../kit/upstream-stream';
import { fromOpenAiChatReply } from './chat-reply';
import { openChatChunks, openChatEvents } from './chat-stream';
import { checkSupport, outputLimit, toOpenAiChatRequest } from './chat-request';
import { fetchGathered } from './gathered-reply';
import { ReasoningRecorder, storeReasoning, withReasoning } from './reasoning-replay';

export class OpenAiChat implements ChatProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('chat/completions');
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    checkSupport(request, deployment);
  }

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    if (mustStream(request, call)) return fetchGathered(await this.streamRequest(request, call));
    const prepared = call.quirks.reasoningReplay === true ? await withReasoning(request, call) : request;
    const body = JSON.stringify(toOpenAiChatRequest(prepared, call, false));
    const result = fromOpenAiChatReply(await this.http.post(this.endpoint, body, call), call);
    const recorder = ReasoningRecorder.for(call);
    if (recorder !== null) await storeReasoning(result, recorder);
    return result;
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    return openChatEvents(await this.streamRequest(request, call));
  }

  async openChunkStream(request: ChatRequest, call: ProviderCall): Promise<ChunkStream> {
    return openChatChunks(await this.streamRequest(request, call));
  }

  private async streamRequest(request: ChatRequest, call: ProviderCall): Promise<StreamRequest> {
    const prepared = call.quirks.reasoningReplay === true ? await withReasoning(request, call) : request;
    const body = JSON.stringify(toOpenAiChatRequest(prepared, call, true));
    return { http: this.http, endpoint: this.endpoint, body, call };
  }
}

function mustStream(request: ChatRequest, { quirks: { streamOnly, streamAbove = Infinity } }: ProviderCall): boolean {
  return streamOnly === true || (outputLimit(request) ?? 0) > streamAbove;
}
