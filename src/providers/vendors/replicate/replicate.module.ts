import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import type { JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { ReplicateQueue } from '../../dialects/replicate/replicate-queue';
import { MappedImages, MappedJobs } from '../../kit/mapped-queue';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';

const API_KEY = 'REPLICATE_API_KEY';
const BASE_URL = 'REPLICATE_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.replicate.com/v1';

const CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  // Only in the logs of some models.
  progress: false,
  idempotentSubmit: false,
  // Predictions and files are removed an hour after their end (https://replicate.com/docs/topics/predictions/data-retention).
  outputTtlSeconds: 3_600,
  pollMs: [2_000, 15_000],
};

/** Replicate (https://replicate.com/docs/reference/http). The catalogue says how each of its models is called. */
@ModelProvider()
export class ReplicateProvider implements ProviderDefinition {
  readonly id = 'replicate';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const queue = new ReplicateQueue(http);
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

@Module({ providers: [ReplicateProvider] })
export class ReplicateModule {}
