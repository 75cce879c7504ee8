import type { ChatMessage } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, parseJsonObject } from '../../kit/json';
import type { CalledFunction } from './response-reader';

/** The parts of a call that are kept until the end of its answer. */
export type SignedCall = Pick<CalledFunction, 'id' | 'signature'>;

const NONE: ReadonlyMap<string, string> = new Map();

/**
 * The signatures of the tool calls in a conversation, by tool call id: from the client, which returns them as
 * `extra_content.google.thought_signature`, or else from the vault.
 */
export async function loadSignatures(
  messages: readonly ChatMessage[],
  openVault: ProviderCall['openVault'],
): Promise<ReadonlyMap<string, string>> {
  const sent = new Map<string, string>();
  /** First calls of messages without any signature: the vault identifies an answer by its first call. */
  const unsigned: string[] = [];
  for (const { role, tool_calls: calls } of messages) {
    if (role === 'assistant' && Array.isArray(calls)) readSent(calls, sent, unsigned);
  }
  if (openVault === undefined || unsigned.length === 0) return sent.size === 0 ? NONE : sent;
  const states = await openVault().load(unsigned);
  for (const state of states.values()) {
    for (const [id, signature] of readState(state)) sent.set(id, signature);
  }
  return sent;
}

/** Stores the signatures of an answer's calls under the id of the first call. */
export async function storeSignatures(
  calls: readonly SignedCall[],
  openVault: ProviderCall['openVault'],
): Promise<void> {
  const [first] = calls;
  if (first === undefined || openVault === undefined) return;
  const signatures = calls.flatMap(({ id, signature }) => (signature === null ? [] : [[id, signature]]));
  if (signatures.length > 0) await openVault().store(first.id, JSON.stringify(Object.fromEntries(signatures)));
}

function readSent(calls: readonly unknown[], sent: Map<string, string>, unsigned: string[]): void {
  let isSigned = false;
  for (const call of calls) {
    const { id, extra_content: extra } = isJsonObject(call) ? call : {};
    const google = isJsonObject(extra) ? extra['google'] : undefined;
    const signature = isJsonObject(google) ? google['thought_signature'] : undefined;
    if (typeof id !== 'string' || typeof signature !== 'string' || signature === '') continue;
    sent.set(id, signature);
    isSigned = true;
  }
  const [first] = calls;
  if (!isSigned && isJsonObject(first) && typeof first['id'] === 'string') unsigned.push(first['id']);
}

function readState(state: string): readonly (readonly [string, string])[] {
  const entries = Object.entries(parseJsonObject(state) ?? {});
  return entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
