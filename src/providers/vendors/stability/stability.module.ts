import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { StabilityImages } from './stability-images';
import { StabilityMusic } from './stability-music';

/** Stability AI (https://platform.stability.ai/docs/api-reference). */
@ModelProvider()
export class StabilityProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'stability',
      apiKeyVariable: 'STABILITY_API_KEY',
      baseUrlVariable: 'STABILITY_BASE_URL',
      defaultBaseUrl: 'https://api.stability.ai/v2beta',
      quirks: { imagesPerCall: 1, imageUrls: false, maskColor: 'white' },
      serve: (http) => ({ images: new StabilityImages(http), music: new StabilityMusic(http) }),
    });
  }
}

@Module({ providers: [StabilityProvider] })
export class StabilityModule {}
