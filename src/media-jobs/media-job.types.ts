import type { ErrorCode } from '../core/errors/catalog';
import type { IdempotencyClaim } from '../core/types/idempotency';
import type { Micro } from '../core/types/micro';
import type { JobHandle } from '../providers/contract/media-job';
import type { FinalStatus, JobStatus } from './media-job.states';

export const JOB_KINDS = ['video', 'music'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** The resolved parameters of a video, with every default filled in. */
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
  /** Also the id of the submitting request, the reservation and the receipt. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly kind: JobKind;
  readonly model: string;
  readonly status: JobStatus;
  /** Percent; `null`: the provider does not report it. */
  readonly progress: number | null;
  /** The amount of the hold. */
  readonly estimatedCostMicro: Micro;
  readonly maxCostMicro: Micro;
  readonly costMicro: Micro;
  readonly error: JobError | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly settings: JobSettings;
  /** Candidate deployment ids, best first. */
  readonly route: readonly string[];
  readonly webhookUrl: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The `traceparent` of the submission; `null`: it was not traced. */
  readonly traceParent: string | null;
  /** This and the next two fields: the target of the last submission; `null` before the first. */
  readonly provider: string | null;
  readonly deploymentId: string | null;
  readonly priceVersionId: string | null;
  readonly providerToken: string | null;
  /**
   * The provider account that got the last submission; `null`: the provider has one account, or does not deduplicate.
   */
  readonly submissionAccount: string | null;
  readonly handle: JobHandle | null;
  /** Number of submissions to providers. */
  readonly submissions: number;
  /** Set without a handle: the outcome of the submission is unknown. */
  readonly submitStartedAt: Date | null;
  readonly polls: number;
  /**
   * Consecutive steps in which no provider accepted the job, or its provider did not know the job or lacked its result;
   * and the time of the first such step.
   */
  readonly setbacks: number;
  readonly setbackSince: Date | null;
  /** Content types of the fetched images, by field; `null` until the images are stored. */
  readonly inputTypes: Readonly<Record<string, string>> | null;
  readonly nextRunAt: Date;
  /** Counts the claims: a write with an old fence has no effect. */
  readonly fence: number;
  /** Counts the changes; a wake-up for an old version claims nothing. */
  readonly version: number;
  readonly finalizingAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  readonly expiresAt: Date;
}

/** Public: the code is from the error catalog, the message is the gateway's. */
export interface JobError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The primary key of a job. */
export type JobKey = Pick<MediaJob, 'organizationId' | 'id'>;

/** A worker's claim to a job. */
export type JobClaim = JobKey & Pick<MediaJob, 'fence'>;

/** The version of a job whose next step is due: claiming an older version fails. */
export type JobWakeUp = JobKey & Pick<MediaJob, 'version'>;

/** A job with a next step. */
export interface DueJob extends JobWakeUp {
  /** Jobs of one lane may delay each other (`job-lane.ts`, `core/concurrency/fair-concurrency-limiter.ts`). */
  readonly lane: string;
}

/** The columns that a poll needs from the row of an accepted job. Until the job ends, only `polls` changes. */
export type PolledJob = JobKey &
  Pick<MediaJob, 'kind' | 'model' | 'provider' | 'deploymentId' | 'submissions' | 'polls' | 'traceParent'> & {
    readonly handle: JobHandle;
  };

/** A due poll for which the row need not be read. */
export interface DuePoll extends DueJob {
  readonly job: PolledJob;
}

/** The values of a new job. */
export interface JobSubmission {
  /** The request id. */
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
  /** `null`: the request is not traced. */
  readonly traceParent: string | null;
  /** From the submission to `expires_at`. */
  readonly ttlSeconds: number;
  readonly claim: Omit<IdempotencyClaim, 'atMostOnce'>;
}

/** The response to a submission, identical for every request with the same key and body. */
export interface SubmissionAnswer {
  /** `true`: another request has submitted the job. */
  readonly isReplayed: boolean;
  readonly status: 202;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A stored file that is about to become a result of the job. */
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
  /** The end of its retention. */
  readonly keptUntil: Date;
}

/** How a job ends. */
export type JobEnding =
  | { readonly status: 'succeeded'; readonly costMicro: Micro; readonly artifacts: readonly NewArtifact[] }
  | { readonly status: 'failed'; readonly error: JobError }
  | { readonly status: Exclude<FinalStatus, 'succeeded' | 'failed'> };
