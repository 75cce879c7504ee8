import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Azure OpenAI, API v1: the model is the name of a deployment, and the host is the resource's
 * (https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle).
 */
@ModelProvider()
export class AzureProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'azure',
      apiKeyVariable: 'AZURE_API_KEY',
      baseUrlVariable: 'AZURE_BASE_URL',
      apiKeyHeader: 'api-key',
      capabilities: ['chat', 'completions', 'embeddings', 'images', 'speech', 'transcription'],
      quirks: {
        streamUsage: 'include_usage',
        developerRole: true,
        // The same models as OpenAI's.
        trustFinishReason: true,
        imageResponseFormat: 'none',
        imageOutput: true,
        implicitCacheWrites: true,
      },
    });
  }
}

@Module({ providers: [AzureProvider] })
export class AzureModule {}
