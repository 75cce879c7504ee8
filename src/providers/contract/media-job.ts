import type { Readable } from 'node:stream';
import type { ImageFile } from './images';
import type { MappedOutput } from './request-mapping';
import type { CallLimits, ProviderCall } from './provider-call';
import type { ProviderError } from './provider-error';
import type { UsageVector } from './usage';

/** A video request that the endpoint has validated. Nothing else of the client's body reaches a provider. */
export interface VideoSpec {
  readonly kind: 'video';
  readonly prompt: string;
  readonly durationSeconds: number;
  /** A label from the catalogue; `null`: the model has only one. */
  readonly resolution: string | null;
  /** `WIDTH:HEIGHT`; `null`: the model's default. */
  readonly aspectRatio: string | null;
  readonly audio: boolean;
  readonly firstFrame: ImageFile | null;
  readonly lastFrame: ImageFile | null;
  readonly references: readonly ImageFile[];
}

/** A music request that the endpoint has validated. */
export interface MusicSpec {
  readonly kind: 'music';
  readonly prompt: string;
  readonly durationSeconds: number;
  /** `mp3`, `wav`, `flac`; `null`: the model's default. */
  readonly format: string | null;
  /** Hertz; `null`: the model's default. */
  readonly sampleRate: number | null;
  readonly instrumental: boolean;
}

export type JobSpec = VideoSpec | MusicSpec;

/** Identifies a job at its provider: JSON of at most 2 KB, without secrets. Stored before the first poll. */
export interface JobHandle {
  readonly v: 1;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly id: string;
  /** The key that submitted the job, if the provider has several keys. */
  readonly keyId?: string;
  /** URLs from the provider's response that cannot be derived from the id. */
  readonly urls?: Readonly<Record<string, string>>;
  /**
   * Where to find results, for deployments with a mapping: the catalogue may no longer have the mapping when the job
   * ends.
   */
  readonly output?: MappedOutput;
}

/** One file that a provider has made. */
export interface JobOutput {
  readonly type: 'video' | 'audio';
  /** A URL, fetched through the outbound guard, or a name that only `open` understands; `null`: see `bytes`. */
  readonly url: string | null;
  /** For providers that return the file itself. */
  readonly bytes?: Buffer;
}

/** The state of a job as its provider reports it. */
export type JobSnapshot =
  | { readonly state: 'queued' | 'running'; readonly progress: number | null; readonly retryAfterMs?: number }
  | {
      readonly state: 'succeeded';
      /** At least one. */
      readonly outputs: readonly JobOutput[];
      /** Usage that the provider bills; `null`: the seconds of the outputs are counted instead. */
      readonly usage: UsageVector | null;
      /**
       * The key that knows the job, if the provider has several keys; the key that submitted it may have been removed.
       */
      readonly keyId?: string;
    }
  /** `canceled` and `expired` are failures too, unless the gateway canceled the job. */
  | { readonly state: 'failed' | 'canceled' | 'expired'; readonly error: ProviderError };

export interface JobCapabilities {
  /** When the provider accepts a cancellation: at any time, only while the job is queued, or never. */
  readonly cancel: 'always' | 'queued' | 'never';
  readonly progress: boolean;
  /** A repeated token returns the same job: a submission whose response was lost may be retried. */
  readonly idempotentSubmit: boolean;
  /**
   * The account within which tokens deduplicate: a lost submission may be retried only to the same account. Vendors do
   * not say which account a key belongs to, so this identifies the key and its base URL. After either changes, the
   * outcome of a lost submission is unknown. Not secret; absent: the provider has no keys.
   */
  readonly submissionAccount?: string;
  /** How long the outputs can be fetched. */
  readonly outputTtlSeconds: number;
  /** Poll interval in milliseconds: first and maximum. */
  readonly pollMs: readonly [first: number, max: number];
}

/**
 * The credential that the vendor's own hosts require to download a result. Sent through the outbound guard, to these
 * hosts only.
 */
export interface DownloadCredential {
  /** Host names in lower case, with the port unless it is 443. */
  readonly hosts: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** A vendor's report about a job, as it arrived. */
export interface SignedReport {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The exact bytes that the vendor signed. */
  readonly body: Buffer;
}

/** The context for verifying a report. */
export interface ReportCall extends CallLimits {
  /** The key that submitted the job, if the provider has several keys. */
  readonly keyId?: string;
  /** Fetches a small public document through the outbound guard. */
  readonly fetchPublic: (url: string) => Promise<Buffer>;
}

interface JobAdapterBase {
  readonly capabilities: JobCapabilities;
  /**
   * Refuses options that the model supports, but not in this combination or not at this deployment. Called before any
   * credits are held. Images may be empty: only their presence counts. Absent: all combinations are possible.
   * @throws ProviderError `validation_failed` with `param`
   */
  assertSupported?(spec: JobSpec, deployment: Pick<ProviderCall, 'mapping'>): void;
  /**
   * Opens an output that has neither a web URL nor `bytes`. The caller must read the stream to its end or destroy it.
   * Absent: there are no such outputs.
   */
  openOutput?(output: JobOutput, call: ProviderCall): Promise<Readable>;
  /** The credential for web URLs of outputs. Absent: the URLs are public. */
  downloadCredential?(call: ProviderCall): Promise<DownloadCredential>;
  /**
   * Whether the vendor signed the report within the last few minutes. Absent: the vendor does not sign reports.
   * @throws Error when the vendor's keys cannot be fetched, which says nothing about the report
   */
  verifyReport?(report: SignedReport, call: ReportCall): Promise<boolean>;
}

/** A provider that accepts a job and is then polled. */
export interface AsyncJobAdapter extends JobAdapterBase {
  readonly mode: 'async';
  /**
   * Called at most once for each token, unless `idempotentSubmit`.
   * @throws ProviderError with phase `connect` when the job was certainly not accepted
   */
  submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle>;
  poll(handle: JobHandle, call: ProviderCall): Promise<JobSnapshot>;
  /** Present if and only if `capabilities.cancel` allows it. `too-late`: the job has finished and will be billed. */
  cancel?(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'>;
}

/** A provider that returns the result directly; the worker waits for it. */
export interface SyncJobAdapter extends JobAdapterBase {
  readonly mode: 'sync';
  make(spec: JobSpec, call: ProviderCall): Promise<Extract<JobSnapshot, { readonly state: 'succeeded' }>>;
}

/** Video or music as a capability of a provider. Throws `ProviderError` only. */
export type JobAdapter = AsyncJobAdapter | SyncJobAdapter;
