/**
 * Dialect `openai-responses`: a chat over `POST …/responses`, for models that accept tools or serve requests only
 * there. One file per direction: `responses-request` with `responses-input`, `responses-reply`, `responses-stream`; and
 * `reasoning-state`, which returns encrypted reasoning with the results of tool calls. Nothing is stored upstream.
 */
import type { ChatCompletionResult, ChatRequest, ChatStream, InputItem, ResponsesProvider } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { type EarlierSteps, loadSteps, NO_STEPS, storeSteps } from './reasoning-state';
import { fromResponsesReply, type ReadReply, toItemEvents } from './responses-reply';
import { toResponsesRequest } from './responses-request';
import { openItemEvents, openResponsesEvents } from './responses-stream';

interface Sent {
  readonly request: ChatRequest;
  /** The conversation, if the client sent it in this format. */
  readonly input: readonly InputItem[] | null;
  readonly stream: boolean;
}

export class OpenAiResponses implements ResponsesProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('responses');
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    toResponsesRequest(request, { ...deployment, upstreamModel: '' }, null, NO_STEPS, false);
  }

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    return (await this.fetchReply(request, null, call)).result;
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const { http, endpoint } = this;
    return this.send({ request, input: null, stream: true }, call, (body) =>
      openResponsesEvents({ http, endpoint, body, call }),
    );
  }

  async respond(request: ChatRequest, input: readonly InputItem[], call: ProviderCall): Promise<ChatCompletionResult> {
    const { result, output } = await this.fetchReply(request, input, call);
    return { ...result, items: toItemEvents(output) };
  }

  async openItemStream(request: ChatRequest, input: readonly InputItem[], call: ProviderCall): Promise<ChatStream> {
    const { http, endpoint } = this;
    return this.send({ request, input, stream: true }, call, (body) => openItemEvents({ http, endpoint, body, call }));
  }

  private async fetchReply(
    request: ChatRequest,
    input: readonly InputItem[] | null,
    call: ProviderCall,
  ): Promise<ReadReply> {
    const reply = await this.send({ request, input, stream: false }, call, async (body) =>
      fromResponsesReply(await this.http.post(this.endpoint, body, call), call),
    );
    await storeSteps(reply.output, call);
    return reply;
  }

  /**
   * If the upstream cannot read the stored reasoning, sends the request again without it. Only the account that made
   * the reasoning can read it, and a provider may have keys of several accounts, or its key may change
   * (https://github.com/openai/codex/issues/13724). The refused call did no work.
   */
  private async send<Answer>(
    { request, input, stream }: Sent,
    call: ProviderCall,
    post: (body: string) => Promise<Answer>,
  ): Promise<Answer> {
    const earlier = await loadSteps(request.messages, call);
    const sendWith = async (steps: EarlierSteps): Promise<Answer> => {
      const body = JSON.stringify(toResponsesRequest(request, call, input, steps, stream));
      return post(body).catch((error: unknown) => {
        throw withChatParam(error, request);
      });
    };
    try {
      return await sendWith(earlier);
    } catch (error) {
      if (earlier.size === 0 || !isUnreadableReasoning(error)) throw error;
      return sendWith(NO_STEPS);
    }
  }
}

/** Patterns for the upstream's field paths, each with the path in a chat request; the first match applies. */
const CHAT_FIELDS: readonly (readonly [RegExp, string])[] = [
  // The upstream's index counts items that the gateway has added or left out.
  [/^input\b.*/, 'messages'],
  [/^text\.format\.(name|description|schema|strict)/, 'response_format.json_schema.$1'],
  [/^text\.format/, 'response_format'],
  [/^text\.verbosity/, 'verbosity'],
  [/^reasoning(\.effort)?$/, 'reasoning_effort'],
];

/** Converts an error about the upstream's request to one about the chat request. */
function withChatParam(error: unknown, request: ChatRequest): unknown {
  if (!(error instanceof ProviderError) || error.options.param === undefined) return error;
  const { param } = error.options;
  const limit = request.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens';
  const fields: typeof CHAT_FIELDS = [...CHAT_FIELDS, [/^max_output_tokens$/, limit]];
  const found = fields.find(([name]) => name.test(param));
  if (found === undefined) return error;
  return new ProviderError(error.code, error.message, { ...error.options, param: param.replace(...found) });
}

function isUnreadableReasoning(error: unknown): boolean {
  return error instanceof ProviderError && error.options.upstream?.code === 'invalid_encrypted_content';
}
