import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { parseBaseUrl } from '../../kit/upstream-http';
import { BflImages } from './bfl-images';
import { RegionalHosts } from './regional-hosts';

const API_KEY = 'BFL_API_KEY';
const BASE_URL = 'BFL_BASE_URL';
/** The domain of the hosts in polling URLs. */
const OFFICIAL_DOMAIN = 'bfl.ai';
const DEFAULT_BASE_URL = 'https://api.bfl.ai/v1';

/** Black Forest Labs (https://docs.bfl.ml/quick_start/generating_images). */
@ModelProvider()
export class BflProvider implements ProviderDefinition {
  readonly id = 'bfl';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const baseUrl = parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL);
    const hosts = new RegionalHosts(baseUrl, OFFICIAL_DOMAIN, { 'x-key': apiKey });
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, images: true },
      quirks: { imagesPerCall: 1, maskColor: 'white' },
      images: new BflImages(hosts),
      drain: () => hosts.drain(),
      close: () => hosts.close(),
    };
  }
}

@Module({ providers: [BflProvider] })
export class BflModule {}
