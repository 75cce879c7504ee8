/**
 * Dialect `gemini-generate`: `models/{model}:generateContent` and `:streamGenerateContent` of Google's Gemini API,
 * which other hosts offer too. The credential is a header of the HTTP client and not part of the dialect.
 */
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { fromGenerateReply } from './generate-reply';
import { toGenerateRequest } from './generate-request';
import { openGenerateStream } from './generate-stream';
import { ModelEndpoints } from './model-endpoints';
import { ResponseReader } from './response-reader';
import { loadSignatures, storeSignatures } from './thought-signatures';

export class GeminiGenerate implements ChatProvider {
  private readonly replies: ModelEndpoints;
  private readonly streams: ModelEndpoints;

  /** @param authorize runs before a request is sent, for a credential that expires */
  constructor(
    private readonly http: UpstreamHttp,
    private readonly authorize?: () => Promise<void>,
  ) {
    this.replies = new ModelEndpoints(http, 'generateContent');
    this.streams = new ModelEndpoints(http, 'streamGenerateContent', 'alt=sse');
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    toGenerateRequest(request, deployment);
  }

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const body = await toBody(request, call);
    await this.authorize?.();
    const reply = await this.http.post(this.replies.of(call.upstreamModel), body, call);
    const { result, calls } = fromGenerateReply(reply, readerFor(request), call);
    await storeSignatures(calls, call.openVault);
    return result;
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const body = await toBody(request, call);
    await this.authorize?.();
    const endpoint = this.streams.of(call.upstreamModel);
    return openGenerateStream({ http: this.http, endpoint, body, call }, readerFor(request));
  }
}

async function toBody(request: ChatRequest, call: ProviderCall): Promise<string> {
  const signatures = await loadSignatures(request.messages, call.openVault);
  return JSON.stringify(toGenerateRequest(request, call, signatures));
}

/** The upstream cannot be limited to one call at a time, so further calls of an answer are dropped. */
function readerFor({ parallel_tool_calls: parallel }: ChatRequest): ResponseReader {
  return new ResponseReader(parallel !== false);
}
