import type { ChatCompletionResult } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { JsonObject } from '../../kit/json';
import { toAnnotations } from './annotations';
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
  call.trace?.noteModel(response['modelVersion']);
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

/**
 * The signature is placed as in Google's own OpenAI-compatible API, so that clients that keep it there send it back.
 */
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
