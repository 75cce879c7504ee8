import { buffer } from 'node:stream/consumers';
import { Injectable, Logger } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { OutboundClient } from '../core/outbound/outbound-client';
import type { ReportCall, SignedReport } from '../providers/contract/media-job';
import { ProvidersService } from '../providers/providers.service';
import type { ReportedJob } from './media-job.repository';

/** Time limit for fetching a vendor's keys, since the vendor is waiting for the response. */
const TIMEOUT_MS = 5_000;
const MAX_KEYS_BYTES = 64 * 1024;
const DEADLINES = { connectMs: TIMEOUT_MS, firstTokenMs: TIMEOUT_MS, idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS };
const RETRY_AFTER_SECONDS = 60;

/** Verifies the reports of vendors that sign them. */
@Injectable()
export class JobReportSignatures {
  private readonly logger = new Logger(JobReportSignatures.name);

  constructor(
    private readonly providers: ProvidersService,
    private readonly outbound: OutboundClient,
  ) {}

  /**
   * Accepts reports of vendors that do not sign.
   * @throws GatewayError `validation_failed`; `service_unavailable` when the keys cannot be fetched
   */
  async assertValid({ provider: id, kind, keyId }: ReportedJob, report: SignedReport): Promise<void> {
    const adapter = this.providers.get(id)?.[kind];
    if (adapter?.verifyReport === undefined) return;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const call: ReportCall = {
      deadlines: DEADLINES,
      signal,
      keyId: keyId ?? undefined,
      fetchPublic: async (url) => {
        const limits = { maxBytes: MAX_KEYS_BYTES, timeoutMs: TIMEOUT_MS };
        return buffer((await this.outbound.fetchArtifact(url, limits, signal)).body);
      },
    };
    let isValid: boolean;
    try {
      isValid = await adapter.verifyReport(report, call);
    } catch (error) {
      const facts = { event: 'job_report_keys_unavailable', provider: id, err: error };
      this.logger.warn({ message: 'failed to fetch the keys that verify the reports of a provider', ...facts });
      throw new GatewayError(
        'service_unavailable',
        'The signature cannot be verified at the moment. Try again shortly.',
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
      );
    }
    if (!isValid) throw new GatewayError('validation_failed', 'The signature is missing, wrong or too old.');
  }
}
