import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { RunwayVideo } from './runway-video';

/** Runway (https://docs.dev.runwayml.com). */
@ModelProvider()
export class RunwayProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'runway',
      apiKeyVariable: 'RUNWAY_API_KEY',
      baseUrlVariable: 'RUNWAY_BASE_URL',
      defaultBaseUrl: 'https://api.dev.runwayml.com/v1',
      // Every request must name the API version: https://docs.dev.runwayml.com/api-details/versioning/
      headers: (apiKey) => ({ authorization: `Bearer ${apiKey}`, 'x-runway-version': '2024-11-06' }),
      serve: (http, provider) => ({ video: new RunwayVideo(provider, http) }),
    });
  }
}

@Module({ providers: [RunwayProvider] })
export class RunwayModule {}
