import { Module } from '@nestjs/common';
import type { JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { FalQueue } from '../../dialects/fal-queue/fal-queue';
import { FalSignatures } from '../../dialects/fal-queue/fal-signature';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { MappedImages, MappedJobs } from '../../kit/mapped-queue';
import { MappedSpeech } from '../../kit/mapped-speech';

const CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  // fal reports only the position in the queue, and logs.
  progress: false,
  idempotentSubmit: false,
  // Files stay for at least a week (https://docs.fal.ai/model-endpoints/media-expiration).
  outputTtlSeconds: 7 * 86_400,
  // Pauses grow by half, so a shorter first pause could make four polls in ten seconds.
  pollMs: [2_000, 15_000],
};

/** fal (https://fal.ai/docs/api-reference/inference-api). The catalogue says how each of its models is called. */
@ModelProvider()
export class FalProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'fal',
      apiKeyVariable: 'FAL_KEY',
      baseUrlVariable: 'FAL_BASE_URL',
      defaultBaseUrl: 'https://queue.fal.run',
      headers: (apiKey) => ({ authorization: `Key ${apiKey}` }),
      serve: (http, provider) => {
        const queue = new FalQueue(http);
        const signatures = new FalSignatures();
        const jobs = new MappedJobs(provider, queue, CAPABILITIES, (report, call) => signatures.verify(report, call));
        return { images: new MappedImages(queue), speech: new MappedSpeech(queue), video: jobs, music: jobs };
      },
    });
  }
}

@Module({ providers: [FalProvider] })
export class FalModule {}
