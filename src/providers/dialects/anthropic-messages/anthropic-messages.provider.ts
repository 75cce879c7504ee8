/**
 * Dialect `anthropic-messages`: `POST …/v1/messages`. One file per direction: `to-messages-request`, `from-message`,
 * `message-stream`; `reasoning-state` brings signed thinking back to the upstream.
 */
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { fromMessage } from './from-message';
import { isThinkingRefused, thinkingRefused } from './message-errors';
import { JsonObjectText, wantsJsonObject } from './json-object';
import { openMessageStream } from './message-stream';
import type { MessagesRequest } from './messages-format';
import { type AnswerBlock, REFUSED_STATE, restoreReasoning, toReasoningState } from './reasoning-state';
import { toMessagesRequest } from './to-messages-request';

/** The oldest version that all models accept, and the first one without sampling parameters. */
const API_VERSION = '2023-06-01';
const API_VERSION_WITHOUT_SAMPLING = '2026-10-21';

interface Connection {
  readonly http: UpstreamHttp;
  readonly endpoint: string;
}

export class AnthropicMessages implements ChatProvider {
  private readonly connections = new Map<string, Connection>();

  /** @param connect creates a connection that sends `anthropic-version` with every request */
  constructor(private readonly connect: (version: string) => UpstreamHttp) {}

  async drain(): Promise<void> {
    await Promise.all([...this.connections.values()].map(({ http }) => http.drain()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections.values()].map(({ http }) => http.close()));
  }

  assertSupported(request: ChatRequest, deployment: DeploymentTraits): void {
    toMessagesRequest(request, { ...deployment, upstreamModel: '' });
  }

  complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    return this.send(request, call, async ({ http, endpoint }, body) => {
      const reply = await http.post(endpoint, JSON.stringify(body), call);
      const { result, blocks } = fromMessage(reply, call, objectOf(request));
      await keepReasoning(body, blocks, call);
      return result;
    });
  }

  openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    return this.send(request, call, (connection, body) => {
      const json = JSON.stringify({ ...body, stream: true });
      const keep = (blocks: readonly AnswerBlock[]): Promise<void> | null => keepReasoning(body, blocks, call);
      return openMessageStream({ ...connection, body: json, call }, keep, objectOf(request));
    });
  }

  private async send<Answer>(
    request: ChatRequest,
    call: ProviderCall,
    answer: (connection: Connection, body: MessagesRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const translated = toMessagesRequest(request, call);
    const { toolSteps, readsReasoning, body } = translated;
    const ids = readsReasoning ? toolSteps.map(({ firstCallId }) => firstCallId) : [];
    const vault = ids.length === 0 ? undefined : call.openVault?.();
    const states = await vault?.load(ids);
    const restored = restoreReasoning(translated, states ?? new Map());
    try {
      return await answer(this.connectionFor(versionOf(call)), body);
    } catch (error) {
      if (restored.length === 0 || !isThinkingRefused(error)) throw error;
      await Promise.all(restored.map((id) => vault?.store(id, REFUSED_STATE)));
      throw thinkingRefused(error);
    }
  }

  private connectionFor(version: string): Connection {
    const known = this.connections.get(version);
    if (known !== undefined) return known;
    const http = this.connect(version);
    const connection = { http, endpoint: http.endpoint('v1/messages') };
    this.connections.set(version, connection);
    return connection;
  }
}

function objectOf(request: ChatRequest): JsonObjectText | null {
  return wantsJsonObject(request) ? new JsonObjectText() : null;
}

function versionOf({ features, quirks }: ProviderCall): string {
  return quirks.apiVersion ?? (features.sampling === false ? API_VERSION_WITHOUT_SAMPLING : API_VERSION);
}

/** Stores the reasoning that the client's next request needs; `null` when there is none. */
function keepReasoning(
  request: MessagesRequest,
  blocks: readonly AnswerBlock[],
  { openVault }: ProviderCall,
): Promise<void> | null {
  const firstCall = blocks.find((block) => block.type === 'tool_use');
  if (openVault === undefined || firstCall?.type !== 'tool_use') return null;
  const state = toReasoningState(request, blocks);
  return state === null ? null : openVault().store(firstCall.id, state);
}
