import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { toUsageVector } from '../../kit/usage';
import type { ChatStreamState } from './chat-stream-state';
import { ContentTemplate } from './content-template';
import { isFailedFinish, toFinishReason } from './finish-reason';
import { failedGeneration, usageOf } from './from-openai-chat-reply';
import { toCreated, toId } from './identity';
import { normalizeReasoning, textBytes, toText } from './message-text';
import { ToolCallDeltas } from './tool-calls';

const DONE = Buffer.from('[DONE]');
/** A template that matches fewer chunks than this was not worth learning. */
const WORTHWHILE_HITS = 8;
/** After this many poor templates the stream is assumed to vary in every chunk (padding, timestamps). */
const MAX_POOR_TEMPLATES = 4;

/**
 * Translates upstream events into frames for the client (sheet A, rules 2 to 9), one at a time. Most events of a stream
 * differ in a few characters of text only: those go through a `ContentTemplate` learned from an earlier chunk, without
 * any JSON work. All other events are parsed.
 */
export class ChatChunkTranslator {
  private readonly toolCalls = new ToolCallDeltas();
  private template: ContentTemplate | null = null;
  private templateHits = 0;
  private poorTemplates = 0;

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {}

  /**
   * @returns the frame to forward, or `null` for an event that does not concern the client
   * @throws ProviderError for an error inside the stream, or an event that is not JSON
   */
  translate(event: Buffer): Buffer | null {
    const { state } = this;
    if (state.done) return null;
    if (this.template !== null && state.finishReason === null) {
      const frame = this.template.apply(event);
      if (frame !== null) {
        this.templateHits++;
        state.generatedBytes += this.template.appliedTextBytes;
        return frame;
      }
    }
    if (event.length === DONE.length && event.equals(DONE)) {
      state.done = true;
      return null;
    }
    return this.translateParsed(event);
  }

  private translateParsed(event: Buffer): Buffer | null {
    const chunk = parse(event);
    const forwarded = this.state.started;
    const translated = this.toChunk(chunk);
    if (translated === null) return null;
    // The first forwarded chunk carries the role, so it is not a template for the others.
    if (forwarded) this.learn(event, chunk);
    return Buffer.from(`data: ${JSON.stringify(translated)}\n\n`);
  }

  private toChunk(chunk: JsonObject): JsonObject | null {
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
    return this.wrap(chunk, choice, delta);
  }

  private toDelta(upstream: JsonObject): JsonObject {
    const { state } = this;
    const { role: _role, tool_calls: toolCalls, ...rest } = upstream;
    const delta: JsonObject = state.started ? rest : { role: 'assistant', ...rest };
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

  private wrap(chunk: JsonObject, choice: JsonObject, delta: JsonObject): JsonObject {
    const { state } = this;
    if (!state.started) {
      state.started = true;
      state.id = toId(chunk['id']);
      state.created = toCreated(chunk['created']);
    }
    const { logprobs } = choice;
    return {
      id: state.id,
      object: 'chat.completion.chunk',
      created: state.created,
      model: this.call.publicModel,
      ...(typeof chunk['system_fingerprint'] === 'string' && { system_fingerprint: chunk['system_fingerprint'] }),
      ...(typeof chunk['service_tier'] === 'string' && { service_tier: chunk['service_tier'] }),
      choices: [
        {
          index: 0,
          delta,
          ...(logprobs !== undefined && { logprobs }),
          finish_reason: state.finishReason,
        },
      ],
    };
  }

  private learn(event: Buffer, chunk: JsonObject): void {
    if (this.poorTemplates >= MAX_POOR_TEMPLATES) return;
    const { generatedBytes } = this.state;
    const learned = ContentTemplate.learn(event, chunk, (example) => JSON.stringify(this.toChunk(example)));
    this.state.generatedBytes = generatedBytes;
    if (learned === null) return;
    if (this.template !== null && this.templateHits < WORTHWHILE_HITS) this.poorTemplates++;
    this.template = learned;
    this.templateHits = 0;
  }
}

function parse(event: Buffer): JsonObject {
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
