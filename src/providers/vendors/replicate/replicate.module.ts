import { Module } from '@nestjs/common';
import type { JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ReplicateQueue } from '../../dialects/replicate/replicate-queue';
import { ReplicateSignatures } from '../../dialects/replicate/replicate-signature';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { MappedImages, MappedJobs } from '../../kit/mapped-queue';

const CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  // Only the logs of some models show progress.
  progress: false,
  idempotentSubmit: false,
  // Replicate removes a prediction and its files an hour after it has ended
  // (https://replicate.com/docs/topics/predictions/data-retention).
  outputTtlSeconds: 3_600,
  pollMs: [2_000, 15_000],
};

/** Replicate (https://replicate.com/docs/reference/http). The catalogue says how each of its models is called. */
@ModelProvider()
export class ReplicateProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'replicate',
      apiKeyVariable: 'REPLICATE_API_KEY',
      baseUrlVariable: 'REPLICATE_BASE_URL',
      defaultBaseUrl: 'https://api.replicate.com/v1',
      serve: (http, provider) => {
        const queue = new ReplicateQueue(http);
        const signatures = new ReplicateSignatures(http);
        const jobs = new MappedJobs(provider, queue, CAPABILITIES, (report, call) => signatures.verify(report, call));
        return { images: new MappedImages(queue), video: jobs, music: jobs };
      },
    });
  }
}

@Module({ providers: [ReplicateProvider] })
export class ReplicateModule {}
