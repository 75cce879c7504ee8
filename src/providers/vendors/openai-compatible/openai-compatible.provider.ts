import { defineOpenAiProvider } from '../../dialects/openai.preset';

/**
 * Any server that speaks OpenAI's formats at an address the operator names: vLLM, Ollama, llama.cpp, LocalAI, a
 * reseller. Nothing is known of it, so that fields only OpenAI gives a meaning to are left out.
 */
export const openaiCompatibleProvider = defineOpenAiProvider({
  id: 'openai-compatible',
  apiKeyVariable: 'OPENAI_COMPATIBLE_API_KEY',
  baseUrlVariable: 'OPENAI_COMPATIBLE_BASE_URL',
  quirks: {
    streamUsage: 'include_usage',
    // The older name: servers that know the newer one take both.
    maxTokensField: 'max_tokens',
    // Some refuse a format that they do not know.
    plainEmbeddings: true,
    // It may fetch them from inside the operator's network.
    imageAddresses: 'check',
    dropFields: [
      'store',
      'metadata',
      'service_tier',
      'prompt_cache_key',
      'prompt_cache_retention',
      'safety_identifier',
    ],
  },
});
