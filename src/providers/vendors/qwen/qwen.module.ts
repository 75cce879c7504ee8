import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Qwen at Alibaba Cloud Model Studio, international endpoint
 * (https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope). Its paid web search is
 * refused: the gateway has no price for it.
 */
@ModelProvider()
export class QwenProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'qwen',
      apiKeyVariable: 'QWEN_API_KEY',
      baseUrlVariable: 'QWEN_BASE_URL',
      defaultBaseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
      capabilities: ['chat', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        rejectFields: ['enable_search', 'search_options'],
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
        // https://github.com/memodb-io/memobase/issues/142
        embeddingBatch: { inputs: 10 },
        // https://www.alibabacloud.com/help/en/model-studio/rate-limit
        quotaIsRateLimit: true,
      },
    });
  }
}

@Module({ providers: [QwenProvider] })
export class QwenModule {}
