import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiVideos } from '../../dialects/openai-videos';

/** vLLM (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html). */
@ModelProvider()
export class VllmProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'vllm',
      apiKeyVariable: 'VLLM_API_KEY',
      baseUrlVariable: 'VLLM_BASE_URL',
      capabilities: ['chat', 'completions', 'embeddings', 'transcription'],
      quirks: {
        streamUsage: 'include_usage',
        // Otherwise clients could make the server fetch URLs inside the operator's network.
        inputImageUrls: 'check',
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
      video: (provider, http) => new OpenAiVideos(provider, http),
    });
  }
}

@Module({ providers: [VllmProvider] })
export class VllmModule {}
