import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/core/time/clock';
import type { AsyncJobAdapter, JobHandle, JobOutput, SyncJobAdapter } from '../../src/providers/contract/media-job';
import type { Provider } from '../../src/providers/contract/provider';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { JobEvent } from '../../src/providers/vendors/mock/mock-jobs';
import {
  MockMediaBasicProvider,
  MockMediaProvider,
  MockMediaSyncProvider,
} from '../../src/providers/vendors/mock/mock.module';
import { musicSpec } from '../conformance/job-requests';
import { providerCall } from '../conformance/provider-call';

/** A line of the log of a mock media provider. */
export interface MockMediaEvent {
  readonly event: JobEvent;
  readonly id: string;
  readonly token: string;
  readonly kind: 'video' | 'music';
  readonly pid: number;
}

/** Operations that the mock media providers of this directory received and performed. */
export async function readMockMediaLog(directory: string): Promise<MockMediaEvent[]> {
  const text = await readFile(join(directory, 'log.jsonl'), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as MockMediaEvent]));
}

/**
 * The tokens of all jobs that the mock media providers of this directory have accepted, each once: read from their
 * stored jobs, because a killed process may not have logged its last action.
 */
export async function readMockMediaTokens(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const records = names.filter((name) => name.endsWith('.job')).map((name) => readFile(join(directory, name), 'utf8'));
  return (await Promise.all(records)).map((record) => (JSON.parse(record) as { token: string }).token);
}

/**
 * Lets the jobs of these mock media providers end now, however long their scripts let them run. Returns how many there
 * are: a worker may not have submitted one yet.
 */
export async function endMockMediaJobs(directory: string): Promise<number> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.job'));
  for (const name of names) {
    const file = join(directory, name);
    const record = JSON.parse(await readFile(file, 'utf8')) as { script: { runMs?: number } };
    record.script.runMs = 0;
    // In one step: a poll may read it at any time.
    await writeFile(`${file}.draft`, JSON.stringify(record));
    await rename(`${file}.draft`, file);
  }
  return names.length;
}

export const MEDIA_PROVIDERS = [new MockMediaProvider(), new MockMediaBasicProvider(), new MockMediaSyncProvider()];

/** An adapter that hands out its files itself. */
type OpeningAdapter = AsyncJobAdapter & Required<Pick<AsyncJobAdapter, 'openOutput'>>;

/** The mock media providers with a separate directory and a fixed clock. */
export class MockMediaStage {
  private nowMs = 1_700_000_000_000;
  readonly clock: Clock = { now: () => this.nowMs, monotonic: () => performance.now() };

  private constructor(readonly directory: string) {}

  static async create(): Promise<MockMediaStage> {
    return new MockMediaStage(await mkdtemp(join(tmpdir(), 'mock-media-')));
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }

  advance(durationMs: number): void {
    this.nowMs += durationMs;
  }

  /** Each call simulates another process. */
  provider(id: string): Provider {
    const environment = { MOCK_MEDIA_PROVIDER: 'true', MOCK_MEDIA_DIR: this.directory };
    const definition = MEDIA_PROVIDERS.find((each) => each.id === id);
    const provider = definition?.create(environment, this.clock);
    if (provider == null) throw new Error(`${id} is not offered`);
    return provider;
  }

  get jobs(): OpeningAdapter {
    return this.provider('mock-media').music as OpeningAdapter;
  }

  get basicJobs(): AsyncJobAdapter {
    return this.provider('mock-media-basic').video as AsyncJobAdapter;
  }

  get syncMusic(): SyncJobAdapter {
    return this.provider('mock-media-sync').music as SyncJobAdapter;
  }

  /** A second of music with these directives. */
  submit(directives: string, token = 'token-1', overrides: Partial<ProviderCall> = {}): Promise<JobHandle> {
    const spec = musicSpec({ prompt: `[[mock: ${directives}]] a sea shanty` });
    return this.jobs.submit(spec, token, providerCall(overrides));
  }

  async state(handle: JobHandle): Promise<string> {
    return (await this.jobs.poll(handle, providerCall())).state;
  }

  async outputs(handle: JobHandle): Promise<readonly JobOutput[]> {
    const snapshot = await this.jobs.poll(handle, providerCall());
    if (snapshot.state !== 'succeeded') throw new Error(`the job is ${snapshot.state}`);
    return snapshot.outputs;
  }

  async openFirst(handle: JobHandle, overrides: Partial<ProviderCall> = {}) {
    const [output] = await this.outputs(handle);
    if (output === undefined) throw new Error('there is no output');
    return this.jobs.openOutput(output, providerCall(overrides));
  }

  async eventNames(): Promise<string[]> {
    return (await readMockMediaLog(this.directory)).map(({ event }) => event);
  }
}
