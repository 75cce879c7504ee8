import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { RecraftImages } from './recraft-images';

/**
 * Recraft (https://www.recraft.ai/docs/api-reference/endpoints). It refuses fields that a model does not have, and its
 * endpoint for input images without a mask requires a strength, so such edits are not offered.
 */
@ModelProvider()
export class RecraftProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'recraft',
      apiKeyVariable: 'RECRAFT_API_KEY',
      baseUrlVariable: 'RECRAFT_BASE_URL',
      defaultBaseUrl: 'https://external.api.recraft.ai/v1',
      capabilities: ['images'],
      quirks: { dropFields: ['user'], imageEdits: 'none', maskColor: 'white' },
      images: (http) => new RecraftImages(http),
    });
  }
}

@Module({ providers: [RecraftProvider] })
export class RecraftModule {}
