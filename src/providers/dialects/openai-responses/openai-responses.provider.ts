/**
 * Dialect `openai-responses`: a chat over `POST …/responses`, for models that accept tools or serve requests only there.
 * One file per direction: `responses-request` with `responses-input`, `responses-reply`, `responses-stream`; and
 * `reasoning-state`, which returns encrypted reasoning with the results of tool calls. Nothing is stored upstream.
 */
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { loadSteps, storeSteps } from './reasoning-state';
import { fromResponsesReply } from './responses-reply';
import { toResponsesRequest } from './responses-request';
import { openResponsesEvents } from './responses-stream';

export class OpenAiResponses implements ChatProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('responses');
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    toResponsesRequest(request, { ...deployment, upstreamModel: '' }, new Map(), false);
  }

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const body = await this.toBody(request, call, false);
    const { result, output } = fromResponsesReply(await this.http.post(this.endpoint, body, call), call);
    await storeSteps(output, call);
    return result;
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const body = await this.toBody(request, call, true);
    return openResponsesEvents({ http: this.http, endpoint: this.endpoint, body, call });
  }

  private async toBody(request: ChatRequest, call: ProviderCall, stream: boolean): Promise<string> {
    const earlier = await loadSteps(request.messages, call);
    return JSON.stringify(toResponsesRequest(request, call, earlier, stream));
  }
}
