import type { ErrorCode } from '../core/errors/catalog';
import type { JobHandle } from '../providers/contract/media-job';
import type { JobStatus } from './media-job.states';
import type { JobKind, JobSettings, MediaArtifact, MediaJob } from './media-job.types';

/** A row of `media_job`. One pool returns `bigint` columns as text, the other as `bigint`. */
export interface MediaJobRow {
  readonly id: string;
  readonly organization_id: string;
  readonly key_id: string;
  readonly kind: JobKind;
  readonly model: string;
  readonly status: JobStatus;
  readonly progress: number | null;
  readonly estimated_cost_micro: string | bigint;
  readonly max_cost_micro: string | bigint;
  readonly cost_micro: string | bigint;
  readonly error_code: ErrorCode | null;
  readonly error_message: string | null;
  readonly params: Record<string, unknown>;
  readonly settings: JobSettings;
  readonly route: string[];
  readonly webhook_url: string | null;
  readonly metadata: Record<string, string>;
  readonly trace_parent: string | null;
  readonly provider: string | null;
  readonly deployment_id: string | null;
  readonly price_version_id: string | null;
  readonly provider_token: string | null;
  readonly submission_account: string | null;
  readonly provider_handle: JobHandle | null;
  readonly submissions: number;
  readonly submit_started_at: Date | null;
  readonly polls: number;
  readonly setbacks: number;
  readonly setback_since: Date | null;
  readonly input_types: Record<string, string> | null;
  readonly next_run_at: Date;
  readonly fence: number;
  readonly version: number;
  readonly finalizing_at: Date | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly completed_at: Date | null;
  readonly expires_at: Date;
}

export interface MediaArtifactRow {
  readonly id: string;
  readonly type: 'video' | 'audio';
  readonly content_type: string;
  readonly size_bytes: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly duration_seconds: number;
  readonly storage_key: string;
  /** When the stored object may be deleted. */
  readonly delete_at: Date;
}

export function toMediaJob(row: MediaJobRow): MediaJob {
  const { error_code: code, error_message: message } = row;
  return {
    id: row.id,
    organizationId: row.organization_id,
    keyId: row.key_id,
    kind: row.kind,
    model: row.model,
    status: row.status,
    progress: row.progress,
    estimatedCostMicro: BigInt(row.estimated_cost_micro),
    maxCostMicro: BigInt(row.max_cost_micro),
    costMicro: BigInt(row.cost_micro),
    error: code === null || message === null ? null : { code, message },
    params: row.params,
    settings: row.settings,
    route: row.route,
    webhookUrl: row.webhook_url,
    metadata: row.metadata,
    traceParent: row.trace_parent,
    provider: row.provider,
    deploymentId: row.deployment_id,
    priceVersionId: row.price_version_id,
    providerToken: row.provider_token,
    submissionAccount: row.submission_account,
    handle: row.provider_handle,
    submissions: row.submissions,
    submitStartedAt: row.submit_started_at,
    polls: row.polls,
    setbacks: row.setbacks,
    setbackSince: row.setback_since,
    inputTypes: row.input_types,
    nextRunAt: row.next_run_at,
    fence: row.fence,
    version: row.version,
    finalizingAt: row.finalizing_at,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    expiresAt: row.expires_at,
  };
}

export function toMediaArtifact(row: MediaArtifactRow): MediaArtifact {
  return {
    id: row.id,
    type: row.type,
    contentType: row.content_type,
    sizeBytes: Number(row.size_bytes),
    width: row.width,
    height: row.height,
    durationSeconds: row.duration_seconds,
    storageKey: row.storage_key,
    keptUntil: row.delete_at,
  };
}
