const JOB_EVENTS = ['job.completed', 'job.failed'] as const;
export type JobEvent = (typeof JOB_EVENTS)[number];
/** Sent on demand to test a receiver. Not about a job. */
export const TEST_EVENT = 'webhook.test';
export const WEBHOOK_EVENTS = [...JOB_EVENTS, TEST_EVENT] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/**
 * `exhausted`: all attempts failed; `gone`: the receiver responded 410; `withdrawn`: the job was deleted. All but
 * `pending` are final until the delivery is sent again.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted', 'gone', 'withdrawn'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The subject of a delivery: the end of a job, or a test. */
export type DeliverySubject =
  { readonly event: JobEvent; readonly jobId: string } | { readonly event: typeof TEST_EVENT; readonly jobId: null };

/** A delivery about a job. */
export interface JobDelivery {
  readonly event: JobEvent;
  readonly jobId: string;
  readonly organizationId: string;
}

/** A delivery that this process has claimed: no other process posts it until `leaseUntil`. */
export type ClaimedDelivery = DeliverySubject & {
  /** The `webhook-id` of every attempt. */
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Number within the current round, which selects the pause. */
  readonly attemptOfRound: number;
  readonly leaseUntil: Date;
};

/**
 * Why an attempt failed: a response other than 2xx, 410, no response, or a host without a public IP address. No detail
 * is given, so that the log does not reveal hosts that only the gateway can reach.
 */
export type AttemptError = 'rejected' | 'gone' | 'unreachable' | 'address_blocked';

/** The outcome of an attempt. */
export interface AttemptOutcome {
  /** Response status; `null` without a response. */
  readonly status: number | null;
  /** `null`: delivered. */
  readonly error: AttemptError | null;
}

/** The state of a delivery after an attempt. */
export type NextStep =
  { readonly state: 'delivered' | 'exhausted' | 'gone' } | { readonly state: 'pending'; readonly retryInMs: number };
