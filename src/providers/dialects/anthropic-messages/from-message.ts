import type { ChatCompletionBody, ChatCompletionResult } from '../../contract/chat';
import type { UrlCitation } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, toJsonText } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import { toCreated, toId } from '../openai-chat/chat-reply';
import { toAnnotations } from './citations';
import { parseExactly } from './exact-json';
import type { JsonObjectText } from './json-object';
import type { AnswerBlock } from './reasoning-state';
import { refusalOf, toFinishReason } from './stop-reason';
import { toMessagesUsage } from './usage';

export interface ReadMessage {
  readonly result: ChatCompletionResult;
  /** The blocks of the answer, for the reasoning vault. */
  readonly blocks: readonly AnswerBlock[];
}

/**
 * Converts a whole message to the gateway's shape and extracts its usage.
 * @param object finds the requested JSON object in the text; `null`: the text may be anything
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a message
 */
export function fromMessage(
  reply: Buffer,
  call: Pick<ProviderCall, 'publicModel' | 'trace'>,
  object: JsonObjectText | null = null,
): ReadMessage {
  const document = parse(reply);
  if (document['type'] === 'error') throw mapInBandError(document, 'first_token');
  const { content, stop_reason: stopReason, stop_details: details, id, usage } = document;
  if (!Array.isArray(content)) throw notAMessage();
  call.trace?.noteModel(document['model']);
  const { blocks, annotations } = readBlocks(content, object);
  object?.check(stopReason);
  const { message, outputBytes } = toMessage(blocks, refusalOf(details));
  if (annotations.length > 0) message['annotations'] = annotations;
  const reason = toFinishReason(stopReason);
  const body: ChatCompletionBody = {
    id: toCompletionId(id),
    object: 'chat.completion',
    created: toCreated(undefined),
    model: call.publicModel,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: reason === 'tool_calls' && message['tool_calls'] === undefined ? 'stop' : reason,
      },
    ],
    system_fingerprint: null,
  };
  return { result: { body, usage: toMessagesUsage(usage), outputBytes }, blocks };
}

/** The upstream's id in the client's format. */
export function toCompletionId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? `chatcmpl-${id.replace(/^msg_/, '')}` : toId(undefined);
}

function notAMessage(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a message.', {
    phase: 'first_token',
    fallback: true,
  });
}

function readBlocks(
  content: readonly unknown[],
  object: JsonObjectText | null,
): { blocks: AnswerBlock[]; annotations: UrlCitation[] } {
  const blocks: AnswerBlock[] = [];
  const annotations: UrlCitation[] = [];
  let end = 0;
  for (const source of content.filter(isJsonObject)) {
    const block = toAnswerBlock(source);
    if (block === null) continue;
    if (block.type === 'text') {
      block.text = object?.add(block.text) ?? block.text;
      const start = end;
      end += block.text.length;
      annotations.push(...toAnnotations(source['citations'], { start_index: start, end_index: end }));
    }
    blocks.push(block);
  }
  return { blocks, annotations };
}

function toMessage(
  blocks: readonly AnswerBlock[],
  refusal: string | null,
): { message: JsonObject; outputBytes: number } {
  let text = '';
  let reasoning = '';
  let outputBytes = 0;
  const calls: JsonObject[] = [];
  for (const block of blocks) {
    if (block.type === 'text') text += block.text;
    else if (block.type === 'thinking') reasoning += block.thinking;
    else if (block.type === 'tool_use') {
      const args = JSON.stringify(block.input ?? {});
      outputBytes += Buffer.byteLength(args);
      calls.push({ id: block.id, type: 'function', function: { name: block.name, arguments: args } });
    }
  }
  const message: JsonObject = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text, refusal };
  if (reasoning !== '') message['reasoning_content'] = reasoning;
  if (calls.length > 0) message['tool_calls'] = calls;
  return { message, outputBytes: outputBytes + Buffer.byteLength(text) + Buffer.byteLength(reasoning) };
}

/** `null` for blocks of tools that run at the upstream. They are never requested, so they are left out. */
function toAnswerBlock(block: JsonObject): AnswerBlock | null {
  const { type, text, thinking, signature, data, id, name, input } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'thinking' && typeof thinking === 'string') {
    return { type, thinking, signature: typeof signature === 'string' ? signature : '' };
  }
  if (type === 'redacted_thinking' && typeof data === 'string') return { type, data };
  if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string') return { type, id, name, input };
  return null;
}

function parse(reply: Buffer): JsonObject {
  try {
    const document = parseExactly(toJsonText(reply));
    if (isJsonObject(document)) return document;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notAMessage();
}
