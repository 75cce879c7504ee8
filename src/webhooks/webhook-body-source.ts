import type { JobDelivery } from './webhook.types';

/** Injection token of the one {@link WebhookBodySource}. */
export const WEBHOOK_BODY_SOURCE = Symbol('WebhookBodySource');

export interface WebhookBody {
  /** JSON, `{ event, job }` except for tests: signed and sent byte for byte. */
  readonly bytes: Buffer;
  /** The id of the submission, or of the request for a test. */
  readonly requestId: string;
  /** The `traceparent` of the submission; `null`: it was not traced. */
  readonly traceparent: string | null;
}

/**
 * Builds webhook bodies. Implemented by the jobs module. Called for every attempt, so that signed URLs are fresh.
 */
export interface WebhookBodySource {
  /**
   * `null`: the job was deleted, so the delivery is withdrawn. After an error the attempt is repeated and not counted.
   */
  build(delivery: JobDelivery): Promise<WebhookBody | null>;
}
