import type { Provider, ProviderCapabilities, ProviderDefinition } from '../../contract/provider';
import type { Quirks } from '../../contract/provider-call';
import { parseBaseUrl } from '../../kit/base-url';
import { UpstreamHttp } from '../../kit/upstream-http';
import { OpenAiChat } from './openai-chat.provider';

const CHAT_ONLY: ProviderCapabilities = {
  chat: true,
  embeddings: false,
  images: false,
  speech: false,
  transcription: false,
  video: false,
  music: false,
};

/** What sets one vendor of the dialect apart from the others. */
export interface OpenAiChatPreset {
  readonly id: string;
  /** Environment name of the key, sent as a bearer token. */
  readonly apiKeyVariable: string;
  /** Environment name of the base URL, everything before `/chat/completions`. */
  readonly baseUrlVariable: string;
  /** Without one the provider exists only where the operator sets the base URL, and the key may be missing. */
  readonly defaultBaseUrl?: string;
  readonly quirks: Quirks;
}

/** A provider definition from a preset: all that a vendor folder needs. */
export function defineOpenAiChatProvider(preset: OpenAiChatPreset): ProviderDefinition {
  const { id, apiKeyVariable, baseUrlVariable, defaultBaseUrl, quirks } = preset;
  return {
    id,
    create(environment): Provider | null {
      const apiKey = environment[apiKeyVariable];
      const baseUrl = environment[baseUrlVariable] ?? defaultBaseUrl;
      if (baseUrl === undefined || (defaultBaseUrl !== undefined && apiKey === undefined)) return null;
      const http = new UpstreamHttp({
        baseUrl: parseBaseUrl(baseUrl, baseUrlVariable),
        headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      });
      return { id, capabilities: CHAT_ONLY, quirks, chat: new OpenAiChat(http), close: () => http.close() };
    },
  };
}
