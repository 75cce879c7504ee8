import { NO_USAGE, type UsageVector } from '../providers/contract/usage';

/**
 * Token estimates without a tokenizer: bytes times a ratio. A tokenizer is exact for one vendor only, costs a hundred times
 * more, and blocks the event loop on hostile text.
 */

/** Framing added by a chat template to each message. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_LOW_DETAIL_IMAGE = 85;
const TOKENS_PER_IMAGE = 1_000;
const TOKENS_PER_AUDIO_SECOND = 32;
/** Compressed speech of ordinary quality: base64 characters of one second. */
const BASE64_CHARACTERS_PER_AUDIO_SECOND = 21_000;

/** The size of a prompt in the units that matter for its price. */
export interface PromptMeasure {
  textBytes: number;
  /** Tokens that do not depend on the model's ratio: framing, images, audio. */
  fixedTokens: number;
}

export function promptTokens(measure: PromptMeasure, tokensPerByte: number): number {
  return Math.ceil(measure.textBytes * tokensPerByte) + measure.fixedTokens;
}

export function outputTokens(bytes: number, tokensPerByte: number): number {
  return Math.ceil(bytes * tokensPerByte);
}

export function textUsage(inputTokens: number, completionTokens: number): UsageVector {
  return { ...NO_USAGE, inputText: inputTokens, outputText: completionTokens };
}

/** Adds every message's text and parts; base64 data is never counted as text. */
export function measureMessages(messages: readonly Readonly<Record<string, unknown>>[], measure: PromptMeasure): void {
  for (const message of messages) {
    measure.fixedTokens += TOKENS_PER_MESSAGE;
    for (const name in message) {
      const value = message[name];
      if (name === 'content' && Array.isArray(value)) measureParts(value, measure);
      else measureText(value, measure);
    }
  }
}

/** Adds every string, and every name, of a JSON value: tool definitions, schemas, tool calls. */
export function measureText(value: unknown, measure: PromptMeasure): void {
  if (typeof value === 'string') {
    measure.textBytes += Buffer.byteLength(value);
  } else if (Array.isArray(value)) {
    for (const item of value) measureText(item, measure);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      measure.textBytes += name.length;
      measureText(member, measure);
    }
  } else if (value !== null && value !== undefined) {
    measure.textBytes += 4;
  }
}

function measureParts(parts: readonly unknown[], measure: PromptMeasure): void {
  for (const part of parts) {
    const {
      type,
      image_url: image,
      input_audio: audio,
    } = part as {
      type?: unknown;
      image_url?: { detail?: unknown };
      input_audio?: { data?: unknown };
    };
    if (type === 'image_url') {
      measure.fixedTokens += image?.detail === 'low' ? TOKENS_PER_LOW_DETAIL_IMAGE : TOKENS_PER_IMAGE;
    } else if (type === 'input_audio') {
      const characters = typeof audio?.data === 'string' ? audio.data.length : 0;
      measure.fixedTokens += Math.ceil(characters / BASE64_CHARACTERS_PER_AUDIO_SECOND) * TOKENS_PER_AUDIO_SECOND;
    } else if (type === 'file') {
      measure.fixedTokens += TOKENS_PER_IMAGE;
    } else {
      measureText(part, measure);
    }
  }
}
