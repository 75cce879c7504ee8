/**
 * Says that there is something to be done for a row of a table, as it was at one of its versions. It may come late, twice
 * or never: whoever is woken looks at the row, and another version is no longer what it was woken for.
 */
export interface WakeUp {
  readonly id: string;
  readonly version: number;
  /** What may hold each other up has one lane; those who wait in another are passed by. */
  readonly lane: string;
}

/** How a wake-up travels: nothing of what it is for. */
export interface WakeUpPayload {
  readonly jobId: string;
  readonly gen: number;
  readonly lane: string;
}

/** Every queue has one name: deployments differ in their prefix. */
export const QUEUE_NAME = 'wake-ups';
