import type { JobDelivery } from './webhook.types';

/** Injection token of the one {@link WebhookBodySource}. */
export const WEBHOOK_BODY_SOURCE = Symbol('WebhookBodySource');

export interface WebhookBody {
  /** JSON, `{ event, job }` (contract, section 6.1) but for tests: what is signed and sent, byte for byte. */
  readonly bytes: Buffer;
  /** Of the submission, or of the request that asked for a test. */
  readonly requestId: string;
}

/**
 * Says what a webhook tells. Implemented by those who know jobs, as this module does not. Asked anew for every attempt, so
 * that signed addresses are fresh.
 */
export interface WebhookBodySource {
  /** `null`: nobody is to hear of it any more, since it was deleted. What it throws is tried again and costs no attempt. */
  build(delivery: JobDelivery): Promise<WebhookBody | null>;
}
