import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { IdeogramImages } from './ideogram-images';

/** Ideogram (https://developer.ideogram.ai/api-reference). */
@ModelProvider()
export class IdeogramProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'ideogram',
      apiKeyVariable: 'IDEOGRAM_API_KEY',
      baseUrlVariable: 'IDEOGRAM_BASE_URL',
      defaultBaseUrl: 'https://api.ideogram.ai/v1',
      headers: (apiKey) => ({ 'api-key': apiKey }),
      quirks: { imagesPerCall: 8, maskColor: 'black' },
      serve: (http) => ({ images: new IdeogramImages(http) }),
    });
  }
}

@Module({ providers: [IdeogramProvider] })
export class IdeogramModule {}
