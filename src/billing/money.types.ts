import type { IdempotencyClaim, IdempotencyCompletion } from '../common/idempotency';
import type { Micro } from '../common/micro';
import type { UsageRecord } from './usage-record';

/** Hold `amountMicro` of an organization's balance and budgets for one request. */
export interface ReserveCommand {
  /** Made by the caller, so that repeating a call whose answer was lost changes nothing. */
  readonly reservationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly amountMicro: Micro;
  /** After this time the hold is expired even if its owner lives. */
  readonly ttlSeconds: number;
  /** Claimed with the hold, or nothing is held. */
  readonly claim?: IdempotencyClaim | null;
}

/** End a hold. `settled` charges `actualMicro`; `released` charges nothing. */
export interface FinishCommand {
  readonly reservationId: string;
  readonly organizationId: string;
  readonly outcome: 'settled' | 'released';
  readonly actualMicro: Micro;
  readonly record: UsageRecord | null;
  /** What the claimed key answers from now on. Without it the key is free again. */
  readonly completion?: IdempotencyCompletion | null;
  /**
   * For an answer of which nothing has been sent: when its caller is turned away before the charge was made, the hold is
   * released instead. Nobody pays for what only the gateway has seen.
   */
  readonly releaseIfTurnedAway?: boolean;
}

export interface FinishResult {
  /** `false`: the reservation was no longer held, nothing changed. */
  readonly applied: boolean;
  readonly chargedMicro: Micro;
  /** The part of the cost that neither the hold nor the free balance covered. */
  readonly uncollectedMicro: Micro;
}

/** The key was claimed by another request: look it up again. Nothing is held. */
export class KeyClaimedError extends Error {
  constructor() {
    super('The idempotency key belongs to another request.');
  }
}
