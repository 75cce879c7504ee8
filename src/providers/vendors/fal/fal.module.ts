import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import type { JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { FalQueue } from '../../dialects/fal-queue/fal-queue';
import { MappedImages, MappedJobs } from '../../kit/mapped-queue';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';

const API_KEY = 'FAL_KEY';
const BASE_URL = 'FAL_BASE_URL';
const DEFAULT_BASE_URL = 'https://queue.fal.run';

const CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  // A place in the queue and logs only.
  progress: false,
  idempotentSubmit: false,
  // Files stay for at least a week (https://docs.fal.ai/model-endpoints/media-expiration).
  outputTtlSeconds: 7 * 86_400,
  pollMs: [1_500, 15_000],
};

/** fal (https://fal.ai/docs/api-reference/inference-api). The catalogue says how each of its models is called. */
@ModelProvider()
export class FalProvider implements ProviderDefinition {
  readonly id = 'fal';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { authorization: `Key ${apiKey}` },
    });
    const queue = new FalQueue(http);
    const jobs = new MappedJobs(this.id, queue, CAPABILITIES);
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, images: true, video: true, music: true },
      quirks: {},
      images: new MappedImages(queue),
      video: jobs,
      music: jobs,
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [FalProvider] })
export class FalModule {}
