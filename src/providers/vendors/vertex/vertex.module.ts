import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { GeminiGenerate } from '../../dialects/gemini-generate/gemini-generate.provider';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';
import { AccessTokens } from './access-tokens';
import { parseServiceAccount } from './service-account';
import { VeoVideo } from './veo-video';

const API_KEY = 'VERTEX_API_KEY';
const BASE_URL = 'VERTEX_BASE_URL';

/**
 * Gemini and Veo models at Google Vertex AI. The key belongs to a service account or is an API key of express mode. The
 * base URL is everything before `/publishers`: for a service account
 * `https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}`, with the host
 * `aiplatform.googleapis.com` for the location `global`; for an API key `https://aiplatform.googleapis.com/v1`
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/vertex-ai-express-mode-api-reference). The
 * catalogue has the prices of `global`; other locations cost a tenth more. Vertex AI has its own format for embeddings.
 * Gemini models before 3 refuse ids of tool calls, so their deployments need the quirk `toolCallIds: false`
 * (https://github.com/BerriAI/litellm/pull/34603).
 */
@ModelProvider()
export class VertexProvider implements ProviderDefinition {
  readonly id = 'vertex';
  readonly credentials = [API_KEY, BASE_URL];

  create({ [API_KEY]: apiKey, [BASE_URL]: given }: ProviderEnvironment): Provider | null {
    if (apiKey === undefined || given === undefined) return null;
    const baseUrl = parseBaseUrl(given, BASE_URL);
    baseUrl.pathname += `${baseUrl.pathname.endsWith('/') ? '' : '/'}publishers/google`;
    const account = parseServiceAccount(apiKey, API_KEY);
    const tokens = account === null ? null : new AccessTokens(account);
    const http =
      tokens === null
        ? new UpstreamHttp({ baseUrl, headers: { 'x-goog-api-key': apiKey } })
        : new UpstreamHttp({ baseUrl, authorization: () => tokens.authorization });
    const authorize = () => tokens?.renew() ?? Promise.resolve();
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, chat: true, video: true },
      // Google fetches image URLs itself, but only from some hosts and not for all models.
      quirks: { inputImageUrls: 'inline' },
      chat: new GeminiGenerate(http, authorize),
      video: new VeoVideo(this.id, http, authorize),
      drain: () => http.drain(),
      close: async () => {
        await Promise.all([http.close(), tokens?.close()]);
      },
    };
  }
}

@Module({ providers: [VertexProvider] })
export class VertexModule {}
