import type { ProviderPhase } from '../../contract/provider-error';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';

/** The content of one event of a streamed transcript. */
export interface TranscriptEvent {
  /** The next piece of text. */
  readonly delta?: string;
  /** The whole text, once it is complete. */
  readonly text?: string;
  readonly done?: true;
  readonly usage?: unknown;
}

const NOTHING: TranscriptEvent = {};
const DONE: TranscriptEvent = { done: true };

/**
 * Reads the `data` of an event: OpenAI's `transcript.text.delta` and `.done`, or the chunks that vLLM sends, which look
 * like chat chunks.
 * @throws ProviderError for an error event, and for invalid JSON
 */
export function readTranscriptEvent(data: Buffer, phase: ProviderPhase): TranscriptEvent {
  const text = data.toString('utf8');
  if (text === '[DONE]') return DONE;
  const event = parse(text, phase);
  if (event['error'] != null || event['type'] === 'error') throw mapInBandError(event, phase);
  switch (event['type']) {
    case 'transcript.text.delta':
      return typeof event['delta'] === 'string' ? { delta: event['delta'] } : NOTHING;
    case 'transcript.text.done':
      return { done: true, usage: event['usage'], ...(typeof event['text'] === 'string' && { text: event['text'] }) };
    default:
      return Array.isArray(event['choices']) ? readChunk(event['choices'][0]) : NOTHING;
  }
}

function readChunk(choice: unknown): TranscriptEvent {
  if (!isJsonObject(choice)) return NOTHING;
  const { delta, finish_reason: reason } = choice;
  const content = isJsonObject(delta) ? delta['content'] : undefined;
  return { ...(typeof content === 'string' && { delta: content }), ...(typeof reason === 'string' && DONE) };
}

function parse(text: string, phase: ProviderPhase): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw new ProviderError('provider_error', 'The provider sent an event that is not JSON.', { phase, fallback: true });
}
