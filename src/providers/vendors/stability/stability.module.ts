import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';
import { StabilityImages } from './stability-images';

const API_KEY = 'STABILITY_API_KEY';
const BASE_URL = 'STABILITY_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.stability.ai/v2beta';

/** Stability AI (https://platform.stability.ai/docs/api-reference). */
@ModelProvider()
export class StabilityProvider implements ProviderDefinition {
  readonly id = 'stability';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, images: true },
      quirks: { imagesPerCall: 1, imageUrls: false },
      images: new StabilityImages(http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [StabilityProvider] })
export class StabilityModule {}
