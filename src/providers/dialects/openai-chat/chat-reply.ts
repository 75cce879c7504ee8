import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../core/time/clock';
import type { ChatCompletionBody, ChatCompletionResult } from '../../contract/chat';
import type { FinishReason } from '../../contract/chat-event';
import type { ProviderCall, Quirks } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import { toUsageVector } from '../../kit/usage';
import { fromLogprobLists } from './logprobs';
import { fromReasoningDetails } from './reasoning-details';
import { type SplitText, ThinkTags } from './think-tags';
import { normalizeToolCalls } from './tool-calls';

/** {@link fromCompletion} for the bytes of a reply. */
export function fromOpenAiChatReply(reply: Buffer, call: ProviderCall): ChatCompletionResult {
  const document = parseJsonObject(reply);
  if (document === null) throw notACompletion();
  return fromCompletion(document, call);
}

/**
 * Converts a whole reply to the gateway's shape and extracts its usage. Top-level fields are an allow-list: vendor
 * fields reveal the upstream and its internals.
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a completion
 */
export function fromCompletion(document: JsonObject, call: ProviderCall): ChatCompletionResult {
  if (document['error'] != null) throw mapInBandError(document, 'first_token');
  const choice: unknown = Array.isArray(document['choices']) ? document['choices'][0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice['message'])) throw notACompletion();
  if (isFailedFinish(choice['finish_reason'])) throw failedGeneration();

  const { quirks } = call;
  call.trace?.noteModel(document['model']);
  const { message, calledTools, outputBytes } = toMessage(choice['message'], quirks);
  const annotations = quirks.citations === true ? toAnnotations(document) : null;
  if (annotations !== null) message['annotations'] = annotations;
  const reason = typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop';
  const body: ChatCompletionBody = {
    id: toId(document['id']),
    object: 'chat.completion',
    created: toCreated(document['created']),
    model: call.publicModel,
    choices: [
      {
        index: 0,
        message,
        logprobs: toLogprobs(choice, message, quirks) ?? null,
        finish_reason: toFinishReason(reason, calledTools, quirks.trustFinishReason === true),
      },
    ],
    system_fingerprint: typeof document['system_fingerprint'] === 'string' ? document['system_fingerprint'] : null,
  };
  if (typeof document['service_tier'] === 'string') body['service_tier'] = document['service_tier'];
  return { body, usage: toUsageVector(usageOf(document), quirks), outputBytes };
}

/**
 * `usage`, also where Groq (https://console.groq.com/docs/api-reference) and Moonshot
 * (https://github.com/earendil-works/pi/issues/2017) put it in streams.
 */
export function usageOf({ usage, x_groq: groq, choices }: JsonObject): unknown {
  if (usage != null) return usage;
  if (isJsonObject(groq)) return groq['usage'];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isJsonObject(choice) ? choice['usage'] : undefined;
}

/** Sources that an upstream lists next to the choices, as pages or bare URLs; `null` if there are none. */
export function toAnnotations({ search_results: pages, citations }: JsonObject): readonly JsonObject[] | null {
  const sources = Array.isArray(pages) && pages.length > 0 ? pages : citations;
  if (!Array.isArray(sources)) return null;
  const annotations = sources.flatMap((source: unknown) => toAnnotation(source));
  return annotations.length === 0 ? null : annotations;
}

/** The upstream cites by number in the text (`[1]`), so an annotation has no span. */
function toAnnotation(source: unknown): readonly JsonObject[] {
  const { url, title } = isJsonObject(source) ? source : { url: source, title: undefined };
  if (typeof url !== 'string') return [];
  const citation = { start_index: 0, end_index: 0, url, title: typeof title === 'string' ? title : url };
  return [{ type: 'url_citation', url_citation: citation }];
}

export function failedGeneration(): ProviderError {
  return new ProviderError('provider_error', 'The provider failed to generate a response.', {
    phase: 'first_token',
    fallback: true,
  });
}

/** The log probabilities of a choice. `message` has the choice's text. */
export function toLogprobs({ logprobs }: JsonObject, { content }: JsonObject, { logprobLists }: Quirks): unknown {
  return logprobLists === true ? fromLogprobLists(logprobs, content) : logprobs;
}

function toMessage(
  upstream: JsonObject,
  quirks: Quirks,
): { message: JsonObject; calledTools: boolean; outputBytes: number } {
  const given = quirks.reasoningDetails === true ? fromReasoningDetails(upstream) : upstream;
  const { content = null, refusal, tool_calls: toolCalls } = given;
  const message: JsonObject = { ...given, role: 'assistant', content, refusal: refusal ?? null };
  normalizeTexts(message);
  const tags = thinkTagsFor(quirks);
  if (tags !== null) {
    separateReasoning(message, tags);
    addHeldText(message, tags);
  }
  let outputBytes = textBytes(message);
  const calledTools = Array.isArray(toolCalls) && toolCalls.length > 0;
  if (calledTools) {
    const { calls, bytes } = normalizeToolCalls(toolCalls);
    message['tool_calls'] = calls;
    outputBytes += bytes;
  } else if (toolCalls !== undefined) {
    delete message['tool_calls'];
  }
  return { message, calledTools, outputBytes };
}

function notACompletion(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a chat completion.', {
    phase: 'first_token',
    fallback: true,
  });
}

/** The texts of a message or delta in the standard shape: `content` as a string, reasoning as `reasoning_content`. */
export function normalizeTexts(message: JsonObject): void {
  const { content, reasoning: renamed, reasoning_content: named } = message;
  const reasoning = named ?? renamed ?? toReasoning(content);
  // V8 takes long even to delete a missing field.
  if (renamed !== undefined) delete message['reasoning'];
  if (typeof reasoning === 'string') message['reasoning_content'] = reasoning;
  else if (named !== undefined) delete message['reasoning_content'];
  if (content !== undefined) message['content'] = toText(content);
}

/** Splits reasoning from the beginning of a text; `null` for upstreams that keep them separate. */
export function thinkTagsFor({ reasoningDetails, reasoningTag }: Quirks): ThinkTags | null {
  return reasoningDetails === true || reasoningTag !== undefined ? new ThinkTags(reasoningTag) : null;
}

/** Moves the reasoning at the beginning of a text to `reasoning_content`, in a message or in its next delta. */
export function separateReasoning(message: JsonObject, tags: ThinkTags): void {
  const { content } = message;
  if (typeof content !== 'string' || tags.isOver) return;
  message['content'] = '';
  addSplitText(message, tags.split(content));
}

/** Adds the text that the tags held back, once the text has ended. */
export function addHeldText(message: JsonObject, tags: ThinkTags): void {
  if (!tags.isOver) addSplitText(message, tags.end());
}

function addSplitText(message: JsonObject, { reasoning, content }: SplitText): void {
  const { content: earlier, reasoning_content: thought } = message;
  if (content !== '') message['content'] = (typeof earlier === 'string' ? earlier : '') + content;
  if (reasoning !== '') message['reasoning_content'] = (typeof thought === 'string' ? thought : '') + reasoning;
}

/** Some upstreams send a list of parts where the format requires a string. */
function toText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  return content.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

/**
 * Reasoning among the parts: `{ type: 'thinking', thinking: [{ type: 'text', text }] }`, as Mistral sends it
 * (https://github.com/spring-projects/spring-ai/issues/5019).
 */
function toReasoning(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const thoughts = content.filter((part): part is JsonObject => isJsonObject(part) && part['type'] === 'thinking');
  return thoughts.length === 0 ? undefined : thoughts.map(({ thinking }) => toText(thinking) ?? '').join('');
}

/** UTF-8 bytes of the text fields of a message or delta; tool calls are counted where they are normalized. */
export function textBytes(message: JsonObject): number {
  const { content, reasoning_content: reasoning, refusal, function_call: called, audio } = message;
  let bytes = bytesOf(content) + bytesOf(reasoning) + bytesOf(refusal);
  if (isJsonObject(called)) bytes += bytesOf(called['arguments']);
  if (isJsonObject(audio)) bytes += bytesOf(audio['transcript']) + bytesOf(audio['data']);
  return bytes;
}

function bytesOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

/** Vendor variants of finish reasons. A reason in neither map counts as `stop`. */
const TRANSLATIONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'function_call'],
  // Mistral (https://docs.mistral.ai/api).
  ['model_length', 'length'],
  ['max_tokens', 'length'],
  // Z.ai (https://docs.z.ai/api-reference/llm/chat-completion), with `network_error` below.
  ['sensitive', 'content_filter'],
  ['model_context_window_exceeded', 'length'],
]);

const FAILURES: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource', 'network_error']);

/** Whether the generation failed, although the upstream ends the response cleanly. */
export function isFailedFinish(reason: unknown): boolean {
  return typeof reason === 'string' && FAILURES.has(reason);
}

/**
 * The standard finish reason.
 * @param calledTools whether the response contains tool calls, for which several upstreams still report `stop`
 * @param trusted whether the upstream's `stop` is kept even then
 */
export function toFinishReason(reason: string, calledTools: boolean, trusted: boolean): FinishReason {
  const known = TRANSLATIONS.get(reason) ?? 'stop';
  return known === 'stop' && calledTools && !trusted ? 'tool_calls' : known;
}

/** For upstreams that omit the required id. */
function makeCompletionId(): string {
  return `chatcmpl-${randomBytes(15).toString('base64url')}`;
}

/** The upstream's `created`, else the current time; in seconds. */
export function toCreated(created: unknown): number {
  return typeof created === 'number' && Number.isSafeInteger(created) ? created : Math.floor(systemClock.now() / 1000);
}

export function toId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : makeCompletionId();
}
