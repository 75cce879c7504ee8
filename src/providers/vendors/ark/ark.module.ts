import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { ArkVideo } from './ark-video';

/**
 * ByteDance Ark, as BytePlus ModelArk (https://docs.byteplus.com/en/docs/ModelArk). Accounts in China use
 * https://ark.cn-beijing.volces.com/api/v3.
 */
@ModelProvider()
export class ArkProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'ark',
      apiKeyVariable: 'ARK_API_KEY',
      baseUrlVariable: 'ARK_BASE_URL',
      defaultBaseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
      serve: (http, provider) => ({ video: new ArkVideo(provider, http) }),
    });
  }
}

@Module({ providers: [ArkProvider] })
export class ArkModule {}
