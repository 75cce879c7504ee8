/**
 * Returns reasoning to upstreams that refuse the results of tool calls without it, because chat clients drop
 * `reasoning_content`: DeepSeek and Kimi in their thinking modes, also behind OpenRouter
 * (https://api-docs.deepseek.com/guides/thinking_mode, https://github.com/charmbracelet/crush/issues/2696). Models at
 * Fireworks and Z.ai continue without it, but no longer know why they made the calls
 * (https://docs.fireworks.ai/guides/reasoning, https://docs.z.ai/guides/capabilities/thinking-mode).
 */
import type { ChatCompletionResult, ChatMessage, ChatRequest } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import type { ReasoningVault } from '../../contract/reasoning-vault';
import { isJsonObject, type JsonObject } from '../../kit/json';

/** Stands for lost reasoning: these upstreams refuse a missing field, and some of them an empty one. */
const LOST_REASONING = ' ';

/**
 * The request with the reasoning of all earlier answers, from the client or else from the vault. Conversations without
 * tool calls stay unchanged.
 */
export async function withReasoning(request: ChatRequest, { openVault }: ProviderCall): Promise<ChatRequest> {
  const answers = request.messages.filter(({ role }) => role === 'assistant');
  if (!answers.some((answer) => firstCallId(answer) !== null)) return request;
  const ids = answers.filter(lacksReasoning).map(firstCallId);
  const states = await openVault?.().load(ids.filter((id) => id !== null));
  const messages = request.messages.map((message) =>
    message.role === 'assistant' && lacksReasoning(message)
      ? { ...message, reasoning_content: toReasoning(states?.get(firstCallId(message) ?? '')) }
      : message,
  );
  return { ...request, messages };
}

function lacksReasoning({ reasoning_content: reasoning }: ChatMessage): boolean {
  return typeof reasoning !== 'string';
}

function firstCallId({ tool_calls: calls }: ChatMessage | JsonObject): string | null {
  const first: unknown = Array.isArray(calls) ? calls[0] : undefined;
  return isJsonObject(first) && typeof first['id'] === 'string' ? first['id'] : null;
}

function toReasoning(state: string | undefined): string {
  return (state === undefined ? '' : (JSON.parse(state) as string)) || LOST_REASONING;
}

/** Collects the reasoning of an answer, whole or in pieces, and stores it if the answer calls tools. */
export class ReasoningRecorder {
  private reasoning = '';
  private toolCallId: string | null = null;

  private constructor(private readonly vault: ReasoningVault) {}

  /** `null` if the upstream gets no reasoning back. */
  static for({ quirks, openVault }: ProviderCall): ReasoningRecorder | null {
    return quirks.reasoningReplay === true && openVault !== undefined ? new ReasoningRecorder(openVault()) : null;
  }

  /** @param message a message or a delta in the standard shape */
  add(message: JsonObject): void {
    if (typeof message['reasoning_content'] === 'string') this.addText(message['reasoning_content']);
    this.toolCallId ??= firstCallId(message);
  }

  addText(text: string): void {
    this.reasoning += text;
  }

  /** Never rejects. */
  async store(): Promise<void> {
    if (this.toolCallId === null || this.reasoning === '') return;
    await this.vault.store(this.toolCallId, JSON.stringify(this.reasoning));
  }
}

/** Stores the reasoning of a whole answer that calls tools. Never rejects. */
export async function storeReasoning({ body }: ChatCompletionResult, recorder: ReasoningRecorder): Promise<void> {
  const [choice] = body.choices as [{ readonly message: JsonObject }];
  recorder.add(choice.message);
  await recorder.store();
}
