export type WebhookEvent = 'job.completed' | 'job.failed';

/** A delivery that this process has claimed: nobody else posts it until `leaseUntil`. */
export interface ClaimedDelivery {
  /** The `webhook-id` of every attempt. */
  readonly id: string;
  readonly jobId: string;
  readonly organizationId: string;
  readonly event: WebhookEvent;
  readonly url: string;
  /** This one's number, from 1. */
  readonly attempt: number;
  readonly leaseUntil: Date;
}

/**
 * Why an attempt is not a delivery: an answer that is not 2xx, 410, no answer, or an address that is not public at the
 * moment. More is not told, so that nobody learns about hosts what only the gateway can see.
 */
export type AttemptError = 'rejected' | 'gone' | 'unreachable' | 'address_blocked';

/** What an attempt has come to. */
export interface AttemptOutcome {
  /** Of the answer; `null` without one. */
  readonly status: number | null;
  /** `null`: delivered. */
  readonly error: AttemptError | null;
}

/** What becomes of a delivery after an attempt. */
export type NextStep =
  { readonly state: 'delivered' | 'exhausted' | 'gone' } | { readonly state: 'pending'; readonly retryInMs: number };
