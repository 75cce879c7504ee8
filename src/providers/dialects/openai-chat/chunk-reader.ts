import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import type { ChatStreamState } from '../../kit/upstream-stream';
import { toUsageVector } from '../../kit/usage';
import { isFailedFinish, toFinishReason } from './finish-reason';
import { failedGeneration, usageOf } from './from-openai-chat-reply';
import { toCreated, toId } from './identity';
import { normalizeReasoning, textBytes, toText } from './message-text';
import { ToolCallDeltas } from './tool-calls';

const DONE = Buffer.from('[DONE]');

/** What a chunk adds to the answer. */
export interface ReadChunk {
  readonly choice: JsonObject;
  /** In the standard shape, without a role. */
  readonly delta: JsonObject;
  /** The first one of the stream. */
  readonly isFirst: boolean;
}

/** Reads the chunks of one stream in order (sheet A, rules 2 to 9) and keeps its state. */
export class ChunkReader {
  private readonly toolCalls = new ToolCallDeltas();

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {}

  /** Whether the event is the end mark; sets the state. */
  isDone(event: Buffer): boolean {
    if (event.length !== DONE.length || !event.equals(DONE)) return false;
    this.state.done = true;
    return true;
  }

  /**
   * @returns `null` for a chunk that does not concern the client
   * @throws ProviderError for an error inside the stream
   */
  read(chunk: JsonObject): ReadChunk | null {
    const { state, call } = this;
    if (chunk['error'] != null) throw mapInBandError(chunk, 'first_token');
    const usage = toUsageVector(usageOf(chunk), call.quirks);
    if (usage !== null) {
      state.usage = usage;
      state.usageIsFinal = state.finishReason !== null;
    }
    const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
    // After the finish reason only usage matters: the format has exactly one finish reason, and it comes last.
    if (!isJsonObject(choice) || state.finishReason !== null) return null;
    const reason = choice['finish_reason'] || null;
    if (isFailedFinish(reason)) throw failedGeneration();
    if (!isJsonObject(choice['delta']) && typeof reason !== 'string') return null;

    const delta = this.toDelta(isJsonObject(choice['delta']) ? choice['delta'] : {});
    if (typeof reason === 'string') {
      state.finishReason = toFinishReason(reason, this.toolCalls.any, call.quirks.trustFinishReason === true);
    }
    const isFirst = !state.started;
    if (isFirst) {
      state.started = true;
      state.id = toId(chunk['id']);
      state.created = toCreated(chunk['created']);
    }
    return { choice, delta, isFirst };
  }

  private toDelta(upstream: JsonObject): JsonObject {
    const { state } = this;
    const { role: _role, tool_calls: toolCalls, ...delta } = upstream;
    if (delta['content'] !== undefined) delta['content'] = toText(delta['content']);
    normalizeReasoning(delta);
    if (upstream['function_call'] != null) state.callsTools = true;
    state.generatedBytes += textBytes(delta);
    if (Array.isArray(toolCalls)) {
      const { calls, bytes } = this.toolCalls.normalize(toolCalls);
      if (calls.length > 0) {
        delta['tool_calls'] = calls;
        state.callsTools = true;
      }
      state.generatedBytes += bytes;
    }
    return delta;
  }
}

/** @throws ProviderError for an event that is not a JSON object */
export function parseChunk(event: Buffer): JsonObject {
  try {
    const chunk: unknown = JSON.parse(event.toString('utf8'));
    if (isJsonObject(chunk)) return chunk;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw new ProviderError('provider_error', 'The provider sent an event that is not a completion chunk.', {
    phase: 'first_token',
    fallback: true,
  });
}
