import type { Readable } from 'node:stream';
import type { ImageFile } from './images';
import type { ProviderCall } from './provider-call';
import type { ProviderError } from './provider-error';
import type { UsageVector } from './usage';

/** A video to be made, as the edge has validated it. Nothing else of the client's body reaches a provider. */
export interface VideoSpec {
  readonly kind: 'video';
  readonly prompt: string;
  readonly durationSeconds: number;
  /** A label of the catalogue; `null`: the model knows no choice. */
  readonly resolution: string | null;
  /** `WIDTH:HEIGHT`; `null`: the model's own choice. */
  readonly aspectRatio: string | null;
  readonly audio: boolean;
  readonly firstFrame: ImageFile | null;
  readonly lastFrame: ImageFile | null;
  readonly references: readonly ImageFile[];
}

/** A piece of music to be made, as the edge has validated it. */
export interface MusicSpec {
  readonly kind: 'music';
  readonly prompt: string;
  readonly durationSeconds: number;
  /** `mp3`, `wav`, `flac`; `null`: the model's own choice. */
  readonly format: string | null;
  /** Hertz; `null`: the model's own choice. */
  readonly sampleRate: number | null;
  readonly instrumental: boolean;
}

export type JobSpec = VideoSpec | MusicSpec;

/** How a provider knows a job: JSON of at most 2 KB, without secrets. Stored before the job is first asked about. */
export interface JobHandle {
  readonly v: 1;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly id: string;
  /** Addresses that the provider gave with its answer, where they cannot be made from the id. */
  readonly urls?: Readonly<Record<string, string>>;
}

/** One file that a provider has made, as it is to be asked for it. */
export interface JobOutput {
  readonly type: 'video' | 'audio';
  /** A web address, fetched through the guard, or a name that only `open` understands; `null`: the bytes are here. */
  readonly url: string | null;
  /** For providers that answer with the file itself. */
  readonly bytes?: Buffer;
}

/** What a provider says of a job at one moment. */
export type JobSnapshot =
  | { readonly state: 'queued' | 'running'; readonly progress: number | null; readonly retryAfterMs?: number }
  | {
      readonly state: 'succeeded';
      /** At least one. */
      readonly outputs: readonly JobOutput[];
      /** What the provider bills; `null`: the seconds of the outputs are counted. */
      readonly usage: UsageVector | null;
    }
  /** `canceled` and `expired` are failures too, unless it was the gateway that gave the job up. */
  | { readonly state: 'failed' | 'canceled' | 'expired'; readonly error: ProviderError };

export interface JobCapabilities {
  /** When a job can still be given up at the provider: at any time, only while it waits there, or not at all. */
  readonly cancel: 'always' | 'queued' | 'never';
  readonly progress: boolean;
  /** The same token again is the same job: a submission whose answer was lost may be repeated. */
  readonly idempotentSubmit: boolean;
  /** How long the outputs can be fetched. */
  readonly outputTtlSeconds: number;
  /** Milliseconds from one poll to the next: at first, and at most. */
  readonly pollMs: readonly [first: number, max: number];
}

interface JobAdapterBase {
  readonly capabilities: JobCapabilities;
  /** The bytes of an output. Whoever opens one must read it to its end or destroy it. */
  open(output: JobOutput, call: ProviderCall): Promise<Readable>;
}

/** A provider that takes a job and is then asked about it. */
export interface AsyncJobAdapter extends JobAdapterBase {
  readonly mode: 'async';
  /**
   * Called at most once for each token, unless `idempotentSubmit`.
   * @throws ProviderError with phase `connect` when the job surely was not accepted
   */
  submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle>;
  poll(handle: JobHandle, call: ProviderCall): Promise<JobSnapshot>;
  /** Optional: its presence agrees with `capabilities.cancel`. `too-late`: it has finished, and will be billed. */
  cancel?(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'>;
}

/** A provider that answers with the result; the worker waits for it. */
export interface SyncJobAdapter extends JobAdapterBase {
  readonly mode: 'sync';
  make(spec: JobSpec, call: ProviderCall): Promise<Extract<JobSnapshot, { readonly state: 'succeeded' }>>;
}

/** Video or music as a capability of a provider. Throws `ProviderError` only. */
export type JobAdapter = AsyncJobAdapter | SyncJobAdapter;
