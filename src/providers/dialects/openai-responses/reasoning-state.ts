/**
 * The reasoning of an answer with tool calls, as the vault keeps it: encrypted items and their positions. The vendor
 * requires the items back in their order, each before the message or call that it led to, and with the phase of the
 * message (https://developers.openai.com/api/docs/guides/reasoning).
 */
import type { ChatMessage } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';

export interface ReasoningStep {
  readonly type: 'reasoning';
  /** Readable parts, empty unless they were requested. */
  readonly summary: readonly unknown[];
  readonly encrypted_content: string;
}

/** A step of an answer. Messages and calls, which the client itself returns, are only referred to. */
export type Step =
  | ReasoningStep
  | { readonly type: 'message'; readonly phase?: string }
  | { readonly type: 'call'; readonly id: string };

/** The steps of earlier answers, by the first tool call id of each. */
export type EarlierSteps = ReadonlyMap<string, readonly Step[]>;

export const NO_STEPS: EarlierSteps = new Map();

/** Never rejects. Reads nothing for a conversation without tool calls. */
export async function loadSteps(messages: readonly ChatMessage[], { openVault }: ProviderCall): Promise<EarlierSteps> {
  const ids = messages.map(firstCallId).filter((id) => id !== null);
  if (openVault === undefined || ids.length === 0) return NO_STEPS;
  const states = await openVault().load(ids);
  return new Map([...states].map(([id, state]) => [id, JSON.parse(state) as readonly Step[]]));
}

/**
 * Stores the steps of an answer unless it has no tool call or no reasoning that can be returned. Never rejects.
 * @param output items of the answer, complete and in order
 */
export async function storeSteps(output: readonly unknown[], { openVault }: ProviderCall): Promise<void> {
  const steps = output.filter(isJsonObject).flatMap(toStep);
  const firstCall = steps.find((step) => step.type === 'call');
  if (firstCall === undefined || !steps.some(({ type }) => type === 'reasoning')) return;
  await openVault?.().store(firstCall.id, JSON.stringify(steps));
}

export function firstCallId({ role, tool_calls: calls }: ChatMessage): string | null {
  const first: unknown = role === 'assistant' && Array.isArray(calls) ? calls[0] : undefined;
  return isJsonObject(first) && typeof first['id'] === 'string' ? first['id'] : null;
}

function toStep(item: JsonObject): readonly Step[] {
  const { type, call_id: id, phase, summary, encrypted_content: encrypted } = item;
  if (type === 'message') return [{ type, ...(typeof phase === 'string' && { phase }) }];
  if (type === 'function_call' || type === 'custom_tool_call') {
    return typeof id === 'string' ? [{ type: 'call', id }] : [];
  }
  if (type !== 'reasoning' || typeof encrypted !== 'string' || encrypted === '') return [];
  // The id is left out: upstreams look up ids among stored items, and nothing is stored
  // (https://github.com/vercel/ai/pull/12869, https://github.com/maximhq/bifrost/issues/5410).
  return [{ type, summary: Array.isArray(summary) ? summary : [], encrypted_content: encrypted }];
}
