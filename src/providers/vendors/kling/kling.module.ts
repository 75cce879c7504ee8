import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { KlingVideo } from './kling-video';
import { klingAuthorization } from './kling-token';

/** Kling (https://kling.ai/document-api). Accounts in China use https://api-beijing.klingai.com. */
@ModelProvider()
export class KlingProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'kling',
      apiKeyVariable: 'KLING_API_KEY',
      baseUrlVariable: 'KLING_BASE_URL',
      defaultBaseUrl: 'https://api-singapore.klingai.com',
      authorization: klingAuthorization,
      serve: (http, provider, _credential, account) => ({ video: new KlingVideo(provider, http, account) }),
    });
  }
}

@Module({ providers: [KlingProvider] })
export class KlingModule {}
