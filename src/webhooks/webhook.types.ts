export type JobEvent = 'job.completed' | 'job.failed';
/** Sent on demand, to see whether a receiver is ready. It tells nothing of any job. */
export const TEST_EVENT = 'webhook.test';
export const WEBHOOK_EVENTS = ['job.completed', 'job.failed', TEST_EVENT] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/**
 * `exhausted`: given up; `gone`: the receiver said so; `withdrawn`: the job was deleted. All but `pending` have ended, until
 * the delivery is sent again.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted', 'gone', 'withdrawn'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** What a delivery tells of: the end of a job, or nothing. */
export type DeliverySubject =
  { readonly event: JobEvent; readonly jobId: string } | { readonly event: typeof TEST_EVENT; readonly jobId: null };

/** A delivery that tells of a job. */
export interface JobDelivery {
  readonly event: JobEvent;
  readonly jobId: string;
  readonly organizationId: string;
}

/** A delivery that this process has claimed: nobody else posts it until `leaseUntil`. */
export type ClaimedDelivery = DeliverySubject & {
  /** The `webhook-id` of every attempt. */
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  /** This one's number, from 1. */
  readonly attempt: number;
  /** The same since the delivery was last sent again: what the schedule goes by. */
  readonly attemptOfRound: number;
  readonly leaseUntil: Date;
};

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
