import { Injectable } from '@nestjs/common';
import { toRequestId } from '../core/types/ids';
import type { WebhookBody, WebhookBodySource } from '../webhooks/webhook-body-source';
import type { JobDelivery } from '../webhooks/webhook.types';
import { JobReplies } from './job-replies';
import { MediaJobRepository } from './media-job.repository';

/** Builds the webhook body of a job: the response that `GET` would return at this moment. */
@Injectable()
export class JobWebhookBody implements WebhookBodySource {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly replies: JobReplies,
  ) {}

  async build({ jobId, organizationId, event }: JobDelivery): Promise<WebhookBody | null> {
    const job = await this.jobs.find(jobId, organizationId, null);
    if (job === null) return null;
    const bytes = Buffer.from(JSON.stringify({ event, job: await this.replies.of(job) }));
    return { bytes, requestId: toRequestId(jobId), traceparent: job.traceParent };
  }
}
