import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { LumaVideo } from './luma-video';

/** Luma (https://docs.agents.lumalabs.ai). */
@ModelProvider()
export class LumaProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'luma',
      apiKeyVariable: 'LUMA_API_KEY',
      baseUrlVariable: 'LUMA_BASE_URL',
      defaultBaseUrl: 'https://agents.lumalabs.ai/v1',
      serve: (http, provider) => ({ video: new LumaVideo(provider, http) }),
    });
  }
}

@Module({ providers: [LumaProvider] })
export class LumaModule {}
