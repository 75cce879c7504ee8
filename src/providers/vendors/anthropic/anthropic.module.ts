import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderCapabilities, ProviderDefinition } from '../../contract/provider';
import { AnthropicMessages } from '../../dialects/anthropic-messages/anthropic-messages.provider';
import { DROPPED } from '../../dialects/anthropic-messages/to-messages-request';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';

const API_KEY = 'ANTHROPIC_API_KEY';
const BASE_URL = 'ANTHROPIC_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.anthropic.com';

const CAPABILITIES: ProviderCapabilities = {
  chat: true,
  completions: false,
  embeddings: false,
  images: false,
  speech: false,
  transcription: false,
  video: false,
  music: false,
};

/** Anthropic's Claude models. As in Anthropic's own clients, the base URL omits `/v1`. */
@ModelProvider()
export class AnthropicProvider implements ProviderDefinition {
  readonly id = 'anthropic';
  readonly credentials = [API_KEY, BASE_URL];

  create({ [API_KEY]: apiKey, [BASE_URL]: given = DEFAULT_BASE_URL }: ProviderEnvironment): Provider | null {
    if (apiKey === undefined) return null;
    const baseUrl = parseBaseUrl(given, BASE_URL);
    const chat = new AnthropicMessages(
      (version) => new UpstreamHttp({ baseUrl, headers: { 'x-api-key': apiKey, 'anthropic-version': version } }),
    );
    return {
      id: this.id,
      capabilities: CAPABILITIES,
      quirks: { dropFields: DROPPED },
      chat,
      drain: () => chat.drain(),
      close: () => chat.close(),
    };
  }
}

@Module({ providers: [AnthropicProvider] })
export class AnthropicModule {}
