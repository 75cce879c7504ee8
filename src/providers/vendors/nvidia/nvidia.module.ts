import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * NVIDIA NIM, hosted or in the operator's network (https://docs.api.nvidia.com/nim/reference). Embedding models require
 * `input_type`, which is passed on.
 */
@ModelProvider()
export class NvidiaProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'nvidia',
      apiKeyVariable: 'NVIDIA_API_KEY',
      baseUrlVariable: 'NVIDIA_BASE_URL',
      defaultBaseUrl: 'https://integrate.api.nvidia.com/v1',
      capabilities: ['chat', 'completions', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        // Its hosted models answer 400 to fields that they do not know: https://github.com/can1357/oh-my-pi/issues/2299
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'verbosity', 'prediction', 'user'],
        plainEmbeddings: true,
        // A container of the operator may fetch images from inside the operator's network.
        inputImageUrls: 'check',
      },
    });
  }
}

@Module({ providers: [NvidiaProvider] })
export class NvidiaModule {}
