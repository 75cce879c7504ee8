import type { UsageRecord } from '../billing/ledger/money.types';
import { ERROR_CATALOG } from '../core/errors/catalog';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { pricedDetailsOf } from './job-hold';
import type { JobEnding, MediaJob } from './media-job.types';

const OPERATIONS = { video: 'createVideo', music: 'createMusic' } as const;
/** The status of requests whose client disconnects. */
const CANCELED_STATUS = 499;
/** `usage_record.total_ms` is a 32-bit integer: 24.8 days. */
const MAX_TOTAL_MS = 2 ** 31 - 1;

/** The receipt of a job that is about to end. `usage` counts only for a success. */
export function receiptOf(job: MediaJob, ending: JobEnding, usage: UsageVector, nowMs: number): UsageRecord {
  return {
    id: job.id,
    organizationId: job.organizationId,
    keyId: job.keyId,
    operation: OPERATIONS[job.kind],
    model: job.model,
    provider: job.provider,
    deploymentId: job.deploymentId,
    priceVersionId: job.priceVersionId,
    ...verdictOf(ending),
    streamed: false,
    usage: ending.status === 'succeeded' ? usage : NO_USAGE,
    usageEstimated: false,
    attempts: job.submissions,
    attemptLog: null,
    pricedBy: pricedDetailsOf(job.settings),
    firstTokenMs: null,
    totalMs: Math.min(MAX_TOTAL_MS, Math.max(0, nowMs - job.createdAt.getTime())),
  };
}

function verdictOf(ending: JobEnding): Pick<UsageRecord, 'status' | 'errorCode'> {
  switch (ending.status) {
    case 'succeeded':
      return { status: 200, errorCode: null };
    case 'failed':
      return { status: ERROR_CATALOG[ending.error.code].status, errorCode: ending.error.code };
    case 'canceled':
      return { status: CANCELED_STATUS, errorCode: null };
    case 'expired':
      return { status: ERROR_CATALOG.provider_timeout.status, errorCode: 'provider_timeout' };
  }
}
