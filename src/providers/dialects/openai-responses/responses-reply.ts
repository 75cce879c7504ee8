import { shiftDecimal } from '../../../core/types/decimal';
import type { ChatCompletionBody, ChatCompletionResult } from '../../contract/chat';
import type { ChatEvent, FinishReason, UrlCitation } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import { toUsageVector } from '../../kit/usage';
import { toCreated, toId } from '../openai-chat/chat-reply';

/** A reply and the items of its answer. */
export interface ReadReply {
  readonly result: ChatCompletionResult;
  readonly output: readonly unknown[];
}

/**
 * Converts a whole reply to a chat completion and extracts its usage.
 * @throws ProviderError for a failed response, or for anything but a response
 */
export function fromResponsesReply(reply: Buffer, call: ProviderCall): ReadReply {
  const response = parseDocument(reply);
  const { output, error, id, created_at: created, service_tier: serviceTier } = response;
  if (error != null) throw mapResponseError(error);
  if (!Array.isArray(output)) throw malformed();
  call.trace?.noteModel(response['model']);
  const answer = readOutput(output);
  const { text, refusal, reasoning, calls, annotations, logprobs } = answer;
  const body: ChatCompletionBody = {
    id: toCompletionId(id),
    object: 'chat.completion',
    created: toCreated(created),
    model: call.publicModel,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' ? null : text,
          refusal: refusal === '' ? null : refusal,
          ...(reasoning !== '' && { reasoning_content: reasoning }),
          ...(calls.length > 0 && { tool_calls: calls }),
          ...(annotations.length > 0 && { annotations }),
        },
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
        finish_reason: finishReasonOf(response, calls.length > 0),
      },
    ],
    system_fingerprint: null,
  };
  if (typeof serviceTier === 'string') body['service_tier'] = serviceTier;
  return { result: { body, usage: usageOf(response), outputBytes: answer.bytes }, output };
}

/** The items that a client gets as events: messages and calls, in order, each in one piece. */
export function toItemEvents(output: readonly unknown[]): readonly ChatEvent[] {
  let textLength = 0;
  let calls = 0;
  return output.filter(isJsonObject).flatMap((item): readonly ChatEvent[] => {
    const complete = isComplete(item);
    if (item['type'] === 'message') {
      const parts = objectsIn(item['content']).flatMap((part) => {
        const events = toPartEvents(part, textLength);
        textLength += part['type'] === 'output_text' ? textOf(part['text']).length : 0;
        return events;
      });
      return [messageStart(item), ...parts, { type: 'message_end', complete }];
    }
    const kind = kindOf(item);
    if (kind === null) return [];
    const index = calls++;
    const text = textOf(item['arguments'] ?? item['input']);
    return [
      { type: 'tool_call', index, id: toCallId(item['call_id']), kind, name: textOf(item['name']) },
      { type: 'tool_input', index, text },
      { type: 'tool_end', index, complete },
    ];
  });
}

function toPartEvents({ type, text, refusal, annotations }: JsonObject, offset: number): readonly ChatEvent[] {
  const kind = partKindOf(type);
  if (kind === null) return [];
  const found = objectsIn(annotations).flatMap((each) => toAnnotation(each, offset));
  return [
    { type: 'part', kind },
    { type: kind, text: textOf(kind === 'text' ? text : refusal) },
    ...found.map((annotation): ChatEvent => ({ type: 'annotation', annotation })),
  ];
}

export function messageStart({ phase }: JsonObject): ChatEvent {
  return { type: 'message', ...(typeof phase === 'string' && { phase }) };
}

/** `null` for a part that is not passed on to clients. */
export function partKindOf(type: unknown): 'text' | 'refusal' | null {
  if (type === 'output_text') return 'text';
  return type === 'refusal' ? type : null;
}

/** Whether an ended item is complete. */
export function isComplete({ status }: JsonObject): boolean {
  return status !== 'incomplete';
}

/** `null` for an item that is not a call of a client's tool. */
export function kindOf({ type }: JsonObject): 'function' | 'custom' | null {
  if (type === 'function_call') return 'function';
  return type === 'custom_tool_call' ? 'custom' : null;
}

/** The text of an answer and its calls, in the shape of chat completions. */
class Answer {
  text = '';
  refusal = '';
  reasoning = '';
  readonly calls: JsonObject[] = [];
  readonly annotations: UrlCitation[] = [];
  readonly logprobs: unknown[] = [];
  /** UTF-8 bytes of everything that the model wrote. */
  bytes = 0;
}

function readOutput(output: readonly unknown[]): Answer {
  const answer = new Answer();
  for (const item of output.filter(isJsonObject)) {
    switch (item['type']) {
      case 'message':
        for (const part of objectsIn(item['content'])) addPart(answer, part);
        break;
      case 'reasoning':
        for (const { text } of [...objectsIn(item['summary']), ...objectsIn(item['content'])]) {
          if (typeof text === 'string') answer.reasoning += separatorAfter(answer.reasoning) + text;
        }
        break;
      case 'function_call':
      case 'custom_tool_call': {
        const call = toToolCall(item);
        answer.calls.push(call.shape);
        answer.bytes += Buffer.byteLength(call.input);
        break;
      }
    }
  }
  const { text, refusal, reasoning } = answer;
  answer.bytes += Buffer.byteLength(text) + Buffer.byteLength(refusal) + Buffer.byteLength(reasoning);
  return answer;
}

function addPart(answer: Answer, { type, text, refusal, annotations, logprobs }: JsonObject): void {
  if (type === 'refusal' && typeof refusal === 'string') answer.refusal += refusal;
  if (type !== 'output_text' || typeof text !== 'string') return;
  const offset = answer.text.length;
  answer.text += text;
  answer.logprobs.push(...(Array.isArray(logprobs) ? (logprobs as unknown[]) : []));
  answer.annotations.push(...objectsIn(annotations).flatMap((each) => toAnnotation(each, offset)));
}

/**
 * Only citations of web pages exist in chat completions.
 * @param offset of the annotated part in the text of the answer
 */
export function toAnnotation(
  { type, url, title, start_index: start, end_index: end }: JsonObject,
  offset: number,
): readonly UrlCitation[] {
  if (type !== 'url_citation' || typeof url !== 'string') return [];
  if (typeof start !== 'number' || typeof end !== 'number') return [];
  const span = { start_index: start + offset, end_index: end + offset };
  return [{ type, url_citation: { ...span, url, title: typeof title === 'string' ? title : url } }];
}

function toToolCall({ type, call_id, name, ...given }: JsonObject): { shape: JsonObject; input: string } {
  const id = toCallId(call_id);
  if (type === 'custom_tool_call') {
    const input = textOf(given['input']);
    return { shape: { id, type: 'custom', custom: { name: textOf(name), input } }, input };
  }
  const input = textOf(given['arguments']);
  return { shape: { id, type: 'function', function: { name: textOf(name), arguments: input } }, input };
}

/** @throws ProviderError for a call whose results could not be returned */
export function toCallId(id: unknown): string {
  if (typeof id === 'string' && id !== '') return id;
  throw malformed();
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The separator between two parts of a summary, each of which is a paragraph. */
export function separatorAfter(reasoning: string): string {
  return reasoning === '' ? '' : '\n\n';
}

export function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** Converts the response's id to a completion id. */
export function toCompletionId(id: unknown): string {
  return toId(typeof id === 'string' ? id.replace(/^resp_/, 'chatcmpl-') : id);
}

/** @throws ProviderError for a response that has not ended, or was canceled */
export function finishReasonOf(
  { status, incomplete_details: details }: JsonObject,
  calledTools: boolean,
): FinishReason {
  // Perplexity has a separate status while it waits for the results of tools
  // (https://docs.perplexity.ai/api-reference).
  if (status === 'completed' || status === 'requires_action') return calledTools ? 'tool_calls' : 'stop';
  if (status !== 'incomplete') throw malformed();
  switch (isJsonObject(details) ? details['reason'] : null) {
    case 'content_filter':
      return 'content_filter';
    case 'steered':
      return 'stop';
    default:
      return 'length';
  }
}

/** The counts of chat completions under other names; Perplexity adds its charge. */
export function usageOf({ usage }: JsonObject): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const counts = {
    prompt_tokens: usage['input_tokens'],
    prompt_tokens_details: usage['input_tokens_details'],
    completion_tokens: usage['output_tokens'],
    completion_tokens_details: usage['output_tokens_details'],
  };
  const counted = toUsageVector(counts, {});
  const vendorCostMicro = toVendorCost(usage['cost']);
  return counted === null || vendorCostMicro === null ? counted : { ...counted, vendorCostMicro };
}

/** Not rounded: the price rounds up once. */
function toVendorCost(cost: unknown): number | null {
  if (!isJsonObject(cost) || cost['currency'] !== 'USD') return null;
  const { total_cost: total } = cost;
  return typeof total === 'number' && total >= 0 ? shiftDecimal(total, 6) : null;
}

/** Codes of failed responses, which state no type of error (`ResponseError` of the `openai` package 7.55.0). */
const POLICY_CODE = /^invalid_prompt$|_policy/;
const IMAGE_CODE = /image/;

/** @param error of a failed response, or of an error event */
export function mapResponseError(error: unknown): ProviderError {
  if (!isJsonObject(error)) return mapInBandError({ error }, 'first_token');
  const code = textOf(error['code']);
  const type = POLICY_CODE.test(code) ? 'content_policy' : IMAGE_CODE.test(code) ? 'invalid_request' : error['type'];
  return mapInBandError({ error: { ...error, type } }, 'first_token');
}

/** @throws ProviderError for anything but a JSON object */
export function parseDocument(bytes: Buffer): JsonObject {
  const document = parseJsonObject(bytes);
  if (document === null) throw malformed();
  return document;
}

function malformed(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not valid.', {
    phase: 'first_token',
    fallback: true,
  });
}
