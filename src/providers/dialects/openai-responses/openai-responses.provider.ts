/**
 * Dialect `openai-responses`: a chat over `POST …/responses`, for models that accept tools or serve requests only there.
 * One file per direction: `responses-request` with `responses-input`, `responses-reply`, `responses-stream`; and
 * `reasoning-state`, which returns encrypted reasoning with the results of tool calls. Nothing is stored upstream.
 */
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { loadSteps, NO_STEPS, storeSteps } from './reasoning-state';
import { fromResponsesReply } from './responses-reply';
import { toResponsesRequest } from './responses-request';
import { openResponsesEvents } from './responses-stream';

export class OpenAiResponses implements ChatProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('responses');
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    toResponsesRequest(request, { ...deployment, upstreamModel: '' }, NO_STEPS, false);
  }

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const { result, output } = await this.send(request, call, false, async (body) =>
      fromResponsesReply(await this.http.post(this.endpoint, body, call), call),
    );
    await storeSteps(output, call);
    return result;
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const { http, endpoint } = this;
    return this.send(request, call, true, (body) => openResponsesEvents({ http, endpoint, body, call }));
  }

  /**
   * Sends a second time, without reasoning, when the upstream cannot read it: only the account that made it can, and a
   * provider may have keys of several or get another one (https://github.com/openai/codex/issues/13724). The refused call
   * did no work.
   */
  private async send<Answer>(
    request: ChatRequest,
    call: ProviderCall,
    stream: boolean,
    post: (body: string) => Promise<Answer>,
  ): Promise<Answer> {
    const earlier = await loadSteps(request.messages, call);
    try {
      return await post(JSON.stringify(toResponsesRequest(request, call, earlier, stream)));
    } catch (error) {
      if (earlier.size === 0 || !isUnreadableReasoning(error)) throw error;
      return post(JSON.stringify(toResponsesRequest(request, call, NO_STEPS, stream)));
    }
  }
}

function isUnreadableReasoning(error: unknown): boolean {
  return error instanceof ProviderError && error.options.upstream?.code === 'invalid_encrypted_content';
}
