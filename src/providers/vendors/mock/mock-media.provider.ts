import { type Clock, systemClock } from '../../../core/time/clock';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import type { JobAdapter, JobCapabilities } from '../../contract/media-job';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { JobDirectory } from './jobs/job-directory';
import { CancelableMockJobs, type JobProviderOptions, MockJobs } from './jobs/mock-jobs';
import { MockMusicSync } from './jobs/mock-music-sync';

/** All capabilities of a job provider. */
const BEST: JobCapabilities = {
  cancel: 'always',
  progress: true,
  idempotentSubmit: true,
  outputTtlSeconds: 3_600,
  pollMs: [500, 1_000],
};
const LEAST: JobCapabilities = { ...BEST, cancel: 'never', progress: false, idempotentSubmit: false };

/**
 * Video and music inside the process (README, *Video and music*). Three providers, since job handling depends on the
 * provider's capabilities: all, none, or synchronous only.
 */
export function defineMockMediaProviders(clock: Clock): readonly ProviderDefinition[] {
  return [
    define('mock-media', BEST, clock, (options) => {
      const jobs = new CancelableMockJobs(options);
      return { video: jobs, music: jobs };
    }),
    define('mock-media-basic', LEAST, clock, (options) => ({ video: new MockJobs(options) })),
    define('mock-media-sync', LEAST, clock, (options) => ({ music: new MockMusicSync(options) })),
  ];
}

export const mockMediaProviders = defineMockMediaProviders(systemClock);

type Adapters = { readonly video?: JobAdapter; readonly music?: JobAdapter };

function define(
  id: string,
  capabilities: JobCapabilities,
  clock: Clock,
  createAdapters: (options: JobProviderOptions) => Adapters,
): ProviderDefinition {
  return {
    id,
    credentials: [],
    create: (environment) => {
      const directory = directoryOf(environment);
      return directory === null ? null : createProvider(id, createAdapters({ id, capabilities, directory, clock }));
    },
  };
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
