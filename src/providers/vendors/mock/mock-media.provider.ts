import { type Clock, systemClock } from '../../../core/time/clock';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import type { JobAdapter, JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { JobDirectory } from './jobs/job-directory';
import { CancelableMockJobs, type JobProviderOptions, MockJobs } from './jobs/mock-jobs';
import { MockMusicSync } from './jobs/mock-music-sync';

const ALL_CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  progress: true,
  idempotentSubmit: true,
  outputTtlSeconds: 3_600,
  pollMs: [500, 1_000],
};
const NO_CAPABILITIES: JobCapabilities = {
  ...ALL_CAPABILITIES,
  cancel: 'never',
  progress: false,
  idempotentSubmit: false,
};

type Adapters = { readonly video?: JobAdapter; readonly music?: JobAdapter };

/**
 * Video and music inside the process (README, *Video and music*). Three providers, since job handling depends on the
 * provider's capabilities: all, none, or synchronous only.
 */
abstract class MockJobProvider implements ProviderDefinition {
  readonly credentials = [];

  constructor(
    readonly id: string,
    private readonly capabilities: JobCapabilities,
    private readonly createAdapters: (options: JobProviderOptions) => Adapters,
  ) {}

  create(environment: ProviderEnvironment, clock: Clock = systemClock): Provider | null {
    const { id, capabilities } = this;
    const directory = directoryOf(environment);
    if (directory === null) return null;
    return createProvider(id, this.createAdapters({ id, capabilities, directory, clock }));
  }
}

@ModelProvider()
export class MockMediaProvider extends MockJobProvider {
  constructor() {
    super('mock-media', ALL_CAPABILITIES, (options) => {
      const jobs = new CancelableMockJobs(options);
      return { video: jobs, music: jobs };
    });
  }
}

@ModelProvider()
export class MockMediaBasicProvider extends MockJobProvider {
  constructor() {
    super('mock-media-basic', NO_CAPABILITIES, (options) => ({ video: new MockJobs(options) }));
  }
}

@ModelProvider()
export class MockMediaSyncProvider extends MockJobProvider {
  constructor() {
    super('mock-media-sync', NO_CAPABILITIES, (options) => ({ music: new MockMusicSync(options) }));
  }
}

/** `null`: not offered. */
function directoryOf(environment: ProviderEnvironment): JobDirectory | null {
  const { MOCK_MEDIA_PROVIDER: setting, MOCK_MEDIA_DIR: path } = environment;
  return setting === 'true' && path !== undefined ? new JobDirectory(path) : null;
}

function createProvider(id: string, adapters: Adapters): Provider {
  return {
    id,
    capabilities: {
      chat: false,
      completions: false,
      embeddings: false,
      images: false,
      speech: false,
      transcription: false,
      video: adapters.video !== undefined,
      music: adapters.music !== undefined,
    },
    quirks: {},
    ...adapters,
    simulated: true,
    close: () => Promise.resolve(),
  };
}
