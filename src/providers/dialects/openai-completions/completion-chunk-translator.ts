import type { ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import type { ChatStreamState, EventTranslator } from '../../kit/upstream-stream';
import { toUsageVector } from '../../kit/usage';
import { isFailedFinish } from '../openai-chat/finish-reason';
import { failedGeneration, usageOf } from '../openai-chat/from-openai-chat-reply';
import { toCreated } from '../openai-chat/identity';
import { finishOf, firstChoice, parseCompletion, toCompletionId } from './from-openai-completion-reply';

const DONE = Buffer.from('[DONE]');

/** Translates the events of a streamed completion into frames for the client, one at a time. */
export class CompletionChunkTranslator implements EventTranslator<Buffer> {
  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {}

  translate(event: Buffer): Buffer | null {
    const { state } = this;
    if (state.done) return null;
    if (event.equals(DONE)) {
      state.done = true;
      return null;
    }
    const chunk = parseCompletion(event);
    if (chunk['error'] != null) throw mapInBandError(chunk, 'first_token');
    this.readUsage(chunk);
    const choice = firstChoice(chunk);
    // After the finish reason only usage matters.
    if (choice === null || state.finishReason !== null) return null;
    const frame = this.toChunk(chunk, choice);
    return frame === null ? null : Buffer.from(`data: ${JSON.stringify(frame)}\n\n`);
  }

  private readUsage(chunk: JsonObject): void {
    const { state } = this;
    const usage = toUsageVector(usageOf(chunk), this.call.quirks);
    if (usage === null) return;
    state.usage = usage;
    state.usageIsFinal = state.finishReason !== null;
  }

  private toChunk(chunk: JsonObject, choice: JsonObject): JsonObject | null {
    const { state } = this;
    const { text, finish_reason: reason, logprobs = null } = choice;
    if (isFailedFinish(reason)) throw failedGeneration();
    const isLast = typeof reason === 'string' && reason !== '';
    if (typeof text !== 'string' && !isLast) return null;
    if (!state.started) {
      state.started = true;
      state.id = toCompletionId(chunk['id']);
      state.created = toCreated(chunk['created']);
    }
    if (isLast) state.finishReason = finishOf(reason);
    const written = typeof text === 'string' ? text : '';
    state.generatedBytes += Buffer.byteLength(written);
    return {
      id: state.id,
      object: 'text_completion',
      created: state.created,
      model: this.call.publicModel,
      ...(typeof chunk['system_fingerprint'] === 'string' && { system_fingerprint: chunk['system_fingerprint'] }),
      choices: [{ text: written, index: 0, logprobs, finish_reason: state.finishReason }],
    };
  }
}
