import type { ErrorCode } from '../common/errors/catalog';
import type { IdempotencyClaim } from '../common/idempotency';
import type { Micro } from '../common/micro';
import type { JobHandle } from '../providers/contract/media-job';
import type { FinalStatus, JobStatus } from './media-job.states';

export const JOB_KINDS = ['video', 'music'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** What the parameters of a video mean for its model, with every default filled in. */
export interface VideoSettings {
  readonly durationSeconds: number;
  readonly resolution: string | null;
  readonly aspectRatio: string | null;
  readonly audio: boolean;
}

export interface MusicSettings {
  readonly durationSeconds: number;
  readonly format: string | null;
  /** Hertz. */
  readonly sampleRate: number | null;
  readonly instrumental: boolean;
}

export type JobSettings = VideoSettings | MusicSettings;

/** A job as it is stored. Times are the database's. */
export interface MediaJob {
  /** Of the submitting request, of the reservation and of the receipt. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly kind: JobKind;
  readonly model: string;
  readonly status: JobStatus;
  /** Percent; `null`: the provider does not say. */
  readonly progress: number | null;
  /** What is held. */
  readonly estimatedCostMicro: Micro;
  readonly maxCostMicro: Micro;
  readonly costMicro: Micro;
  readonly error: JobError | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly settings: JobSettings;
  /** Ids of the deployments that may make it, the best first. */
  readonly route: readonly string[];
  readonly webhookUrl: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Where it was submitted last, as are the next two; `null` before that. */
  readonly provider: string | null;
  readonly deploymentId: string | null;
  readonly priceVersionId: string | null;
  readonly providerToken: string | null;
  readonly handle: JobHandle | null;
  /** How often it was sent to a provider. */
  readonly submissions: number;
  /** Set without a handle: it may have been accepted, and nobody knows. */
  readonly submitStartedAt: Date | null;
  readonly polls: number;
  /** How often in a row the provider did not know the job or did not have its result, and since when. */
  readonly setbacks: number;
  readonly setbackSince: Date | null;
  readonly nextRunAt: Date;
  /** Counts its workers: the write of one whose fence is old changes nothing. */
  readonly fence: number;
  /** Counts its changes, and tells a wake-up that is due from one that is not. */
  readonly version: number;
  readonly finalizingAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  readonly expiresAt: Date;
}

/** Public: the code is of the error table, the message our own. */
export interface JobError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A worker's right to a job. */
export type JobClaim = Pick<MediaJob, 'id' | 'fence'>;

/** A job at one of its versions: whom a wake-up is for. */
export type JobWakeUp = Pick<MediaJob, 'id' | 'version'>;

/** A job that should be worked on. */
export interface DueJob extends JobWakeUp {
  /** The deployment that has it, or would get it first: jobs that may hold each other up (`worker/turn-slots.ts`). */
  readonly lane: string;
}

/** A job that is to be accepted. */
export interface JobSubmission {
  /** The id of the request. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly kind: JobKind;
  readonly model: string;
  readonly holdMicro: Micro;
  readonly maxCostMicro: Micro;
  readonly params: Readonly<Record<string, unknown>>;
  readonly settings: JobSettings;
  readonly route: readonly string[];
  readonly webhookUrl: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** From the submission to `expires_at`. */
  readonly ttlSeconds: number;
  readonly claim: Omit<IdempotencyClaim, 'atMostOnce'>;
}

/** The answer to a submission: the same for everybody who sends its key and body. */
export interface SubmissionAnswer {
  /** `true`: another request has submitted the job. */
  readonly isReplayed: boolean;
  readonly status: 202;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A file that is in storage and about to be one of the job's results. */
export interface NewArtifact {
  readonly type: 'video' | 'audio';
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Pixels; `null` for audio. */
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number;
  readonly storageKey: string;
}

export interface MediaArtifact extends NewArtifact {
  readonly id: string;
}

/** How a job ends. */
export type JobEnding =
  | { readonly status: 'succeeded'; readonly costMicro: Micro; readonly artifacts: readonly NewArtifact[] }
  | { readonly status: 'failed'; readonly error: JobError }
  | { readonly status: Exclude<FinalStatus, 'succeeded' | 'failed'> };
