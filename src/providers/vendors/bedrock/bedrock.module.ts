import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * OpenAI's format at Amazon Bedrock, with a Bedrock API key; the base URL names the region:
 * `https://bedrock-runtime.{region}.amazonaws.com/openai/v1`
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html).
 */
@ModelProvider()
export class BedrockProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'bedrock',
      apiKeyVariable: 'BEDROCK_API_KEY',
      baseUrlVariable: 'BEDROCK_BASE_URL',
      capabilities: ['chat'],
      quirks: {
        streamUsage: 'include_usage',
        // https://github.com/ren8k/aws-gpt-oss-samples
        reasoningTag: 'reasoning',
        // https://github.com/aws-samples/sample-apj-sup-sa/pull/214
        inputImageUrls: 'inline',
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
    });
  }
}

@Module({ providers: [BedrockProvider] })
export class BedrockModule {}
