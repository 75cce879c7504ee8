import type { ChatCompletionResult } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { systemClock } from '../../../core/time/clock';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { type CalledFunction, notAResponse, parseResponse, type ResponseReader, toAnswerId } from './response-reader';

export interface GeneratedReply {
  readonly result: ChatCompletionResult;
  readonly calls: readonly CalledFunction[];
}

/**
 * Converts a whole reply to the gateway's shape.
 * @throws ProviderError for an error inside a reply with status 200, a blocked prompt, or anything but an answer
 */
export function fromGenerateReply(reply: Buffer, reader: ResponseReader, call: ProviderCall): GeneratedReply {
  const response = parseResponse(reply);
  const { candidate, usage } = reader.read(response);
  if (candidate === null) throw notAResponse();
  const { reasoning, text, calls, logprobs, finishReason, source } = candidate;
  const annotations = toAnnotations(source, text);
  const message: JsonObject = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || finishReason === 'content_filter') ? null : text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    ...(annotations.length > 0 && { annotations }),
  };
  return {
    calls,
    result: {
      body: {
        id: toAnswerId(response),
        object: 'chat.completion',
        created: Math.floor(systemClock.now() / 1000),
        model: call.publicModel,
        choices: [
          {
            index: 0,
            message,
            logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
            finish_reason: finishReason ?? 'stop',
          },
        ],
        system_fingerprint: null,
      },
      usage,
      outputBytes: bytesOf(reasoning, text, ...calls.map((each) => each.arguments)),
    },
  };
}

/** The signature goes where Google's own OpenAI-compatible API puts it, so that clients which keep it send it back. */
function toToolCall({ id, name, arguments: text, signature }: CalledFunction): JsonObject {
  return {
    id,
    type: 'function',
    function: { name, arguments: text },
    ...(signature !== null && { extra_content: { google: { thought_signature: signature } } }),
  };
}

function bytesOf(...texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/**
 * Sources of an answer as `url_citation` annotations: passages that are supported by search results, and passages that
 * recite a page. The upstream counts bytes of UTF-8, the annotations count characters.
 */
function toAnnotations(candidate: JsonObject, text: string): readonly JsonObject[] {
  const { groundingMetadata: grounding, citationMetadata: recited } = candidate;
  if (grounding === undefined && recited === undefined) return [];
  const bytes = Buffer.from(text);
  const positionOf = (offset: unknown, fallback: number): number =>
    typeof offset === 'number' ? bytes.subarray(0, offset).toString('utf8').length : fallback;
  const annotate = ({ uri, title }: JsonObject, { startIndex, endIndex }: JsonObject): JsonObject[] => {
    if (typeof uri !== 'string') return [];
    const span = { start_index: positionOf(startIndex, 0), end_index: positionOf(endIndex, text.length) };
    const citation = { ...span, url: uri, title: typeof title === 'string' ? title : uri };
    return [{ type: 'url_citation', url_citation: citation }];
  };
  const cited = isJsonObject(recited) ? (recited['citationSources'] ?? recited['citations']) : undefined;
  return [
    ...groundedPassages(grounding).flatMap(([source, segment]) => annotate(source, segment)),
    ...objectsOf(cited).flatMap((citation) => annotate(citation, citation)),
  ];
}

function groundedPassages(grounding: unknown): readonly (readonly [JsonObject, JsonObject])[] {
  if (!isJsonObject(grounding)) return [];
  const chunks = Array.isArray(grounding['groundingChunks']) ? (grounding['groundingChunks'] as unknown[]) : [];
  return objectsOf(grounding['groundingSupports']).flatMap(({ segment, groundingChunkIndices: indices }) =>
    (Array.isArray(indices) ? (indices as unknown[]) : []).flatMap((index) => {
      const chunk = chunks[Number(index)];
      const source = isJsonObject(chunk) ? (chunk['web'] ?? chunk['retrievedContext'] ?? chunk['maps']) : undefined;
      return isJsonObject(source) ? [[source, isJsonObject(segment) ? segment : {}] as const] : [];
    }),
  );
}

function objectsOf(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly unknown[]).filter(isJsonObject) : [];
}
