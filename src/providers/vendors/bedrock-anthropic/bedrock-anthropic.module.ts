import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { AnthropicMessages } from '../../dialects/anthropic-messages/anthropic-messages.provider';
import { DROPPED } from '../../dialects/anthropic-messages/to-messages-request';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';

const API_KEY = 'BEDROCK_ANTHROPIC_API_KEY';
const BASE_URL = 'BEDROCK_ANTHROPIC_BASE_URL';
/** The only version that Bedrock documents, for every model. */
const API_VERSION = '2023-06-01';

/**
 * Claude models in Anthropic's format at Amazon Bedrock, with a Bedrock API key; the base URL names the region and
 * omits `/v1`: `https://bedrock-mantle.{region}.api.aws/anthropic`
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html).
 */
@ModelProvider()
export class BedrockAnthropicProvider implements ProviderDefinition {
  readonly id = 'bedrock-anthropic';
  readonly credentials = [API_KEY, BASE_URL];

  create({ [API_KEY]: apiKey, [BASE_URL]: given }: ProviderEnvironment): Provider | null {
    if (apiKey === undefined || given === undefined) return null;
    const headers = { 'x-api-key': apiKey, 'anthropic-version': API_VERSION };
    const http = new UpstreamHttp({ baseUrl: parseBaseUrl(given, BASE_URL), headers });
    return {
      id: this.id,
      capabilities: {
        chat: true,
        completions: false,
        embeddings: false,
        images: false,
        speech: false,
        transcription: false,
        video: false,
        music: false,
      },
      // Bedrock accepts images only as base64: https://platform.claude.com/docs/en/build-with-claude/vision
      quirks: { inputImageUrls: 'inline', dropFields: DROPPED },
      chat: new AnthropicMessages(() => http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [BedrockAnthropicProvider] })
export class BedrockAnthropicModule {}
