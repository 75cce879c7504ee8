/**
 * Names of span attributes for calls of models, in the two versions of OpenTelemetry's conventions that collectors
 * understand. The conventions are not stable: a change belongs here and in the recording rules only.
 */
import type { AppConfig } from '../config/app-config';

const COMMON = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  stream: 'gen_ai.request.stream',
  maxTokens: 'gen_ai.request.max_tokens',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunkSeconds: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
};

export type GenaiNames = Readonly<Record<keyof typeof COMMON | 'cacheWriteTokens', string>>;

export const GENAI_NAMES: Readonly<Record<AppConfig['traces']['genaiConventions'], GenaiNames>> = {
  '1.41': { ...COMMON, cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens' },
  latest: { ...COMMON, cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens' },
};

/** `gen_ai.operation.name` of the operations that the conventions know; others keep their own. */
const OPERATION_NAMES: Readonly<Record<string, string>> = {
  createChatCompletion: 'chat',
  createResponse: 'chat',
  createCompletion: 'text_completion',
  createEmbedding: 'embeddings',
};

export function genaiOperationOf(operation: string): string {
  return OPERATION_NAMES[operation] ?? operation;
}
