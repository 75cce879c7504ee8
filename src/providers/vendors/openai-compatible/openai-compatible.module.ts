import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiVideos } from '../../dialects/openai-videos';

/**
 * Any server that speaks OpenAI's formats at a base URL set by the operator: vLLM, Ollama, llama.cpp, LocalAI, a
 * reseller. Nothing else is known about it, so fields that only OpenAI supports are dropped.
 */
@ModelProvider()
export class OpenAiCompatibleProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'openai-compatible',
      apiKeyVariable: 'OPENAI_COMPATIBLE_API_KEY',
      baseUrlVariable: 'OPENAI_COMPATIBLE_BASE_URL',
      quirks: {
        streamUsage: 'include_usage',
        // The older name: servers that know the newer one accept both.
        maxTokensField: 'max_tokens',
        // Some servers refuse an unknown encoding format.
        plainEmbeddings: true,
        imageOutput: true,
        // Otherwise clients could make the server fetch URLs inside the operator's network.
        inputImageUrls: 'check',
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
      video: (provider, http) => new OpenAiVideos(provider, http),
    });
  }
}

@Module({ providers: [OpenAiCompatibleProvider] })
export class OpenAiCompatibleModule {}
