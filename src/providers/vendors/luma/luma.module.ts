import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { JobProvider } from '../../kit/job-provider';
import { LumaVideo } from './luma-video';

/** Luma (https://docs.agents.lumalabs.ai). */
@ModelProvider()
export class LumaProvider extends JobProvider {
  constructor() {
    super({
      id: 'luma',
      apiKeyVariable: 'LUMA_API_KEY',
      baseUrlVariable: 'LUMA_BASE_URL',
      defaultBaseUrl: 'https://agents.lumalabs.ai/v1',
      video: (provider, http) => new LumaVideo(provider, http),
    });
  }
}

@Module({ providers: [LumaProvider] })
export class LumaModule {}
