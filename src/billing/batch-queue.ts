import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { isLockTimeout, isPermanentDatabaseError } from '../database/driver-error';
import { NotSentError } from './money-connection';

export interface BatchQueueOptions<Operation, Answer> {
  /** Runs a batch and answers by position; an `Error` among the answers rejects that operation alone. Must be idempotent. */
  readonly execute: (operations: readonly Operation[], attempt: number) => Promise<readonly (Answer | Error)[]>;
  readonly clock: Clock;
  /** How long a caller waits; then it gets `service_unavailable`. */
  readonly patienceMs: number;
  /** `true`: an operation is executed until it succeeds, whether or not its caller still waits. */
  readonly persistent: boolean;
  /** Told of an operation whose caller was turned away although it may have been, or may still be, executed. */
  readonly onAbandoned?: (operation: Operation) => void;
  /** What to execute from then on in place of an operation whose caller was turned away. */
  readonly whenTurnedAway?: (operation: Operation) => Operation;
  /** What to execute in place of an operation that the database refuses for good; `null` rejects it. */
  readonly salvage?: (operation: Operation, error: unknown) => Operation | null;
  readonly onFailure?: (error: unknown, attempt: number) => void;
  /**
   * Which other queue takes an operation over, when somebody has locked what it needs; `null`: none, it was another one's
   * fault. Those that stay are tried again at once.
   */
  readonly findLane?: (operations: readonly Operation[]) => Promise<FindLane<Operation, Answer>>;
  /** Told whenever nothing is left. */
  readonly onIdle?: () => void;
}

export type FindLane<Operation, Answer> = (operation: Operation) => BatchQueue<Operation, Answer> | null;

interface Entry<Operation, Answer> {
  operation: Operation;
  readonly enqueuedAtMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  turnedAway: boolean;
  mayHaveRun: boolean;
}

/** Measured: larger batches only add latency, and `money_reserve` compares the ids of a batch pairwise. */
const MAX_BATCH = 128;
const MAX_WAITING = 2_000;
const MAX_AGE_MS = 1_000;
const PATROL_MS = 250;
const MAX_PAUSE_MS = 500;

/**
 * Operations that arrive while a batch is in flight become the next batch. No timer decides, so an idle system adds no
 * latency and a busy one finds its own batch size. A failed batch is tried again with the same operations.
 */
export class BatchQueue<Operation, Answer> {
  private waiting: Entry<Operation, Answer>[] = [];
  private inFlight: readonly Entry<Operation, Answer>[] = [];
  private running = false;
  private executing = false;
  private stopped = false;
  private patrolArmed = false;
  private idleListeners: (() => void)[] = [];

  constructor(private readonly options: BatchQueueOptions<Operation, Answer>) {}

  /** Too much is waiting, or something waits for too long: nothing new should be admitted. */
  get congested(): boolean {
    if (this.waiting.length > MAX_WAITING) {
      return true;
    }
    const oldest = this.inFlight[0] ?? this.waiting[0];
    return oldest !== undefined && this.options.clock.monotonic() - oldest.enqueuedAtMs > MAX_AGE_MS;
  }

  get size(): number {
    return this.waiting.length + this.inFlight.length;
  }

  /** @throws GatewayError `service_unavailable` when there was no answer in time; else what the executor answered. */
  push(operation: Operation): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.stopped) {
        reject(unavailable());
        return;
      }
      const enqueuedAtMs = this.options.clock.monotonic();
      this.take({ operation, enqueuedAtMs, resolve, reject, turnedAway: false, mayHaveRun: false });
    });
  }

  private take(entry: Entry<Operation, Answer>): void {
    this.waiting.push(entry);
    if (this.running) return;
    this.running = true;
    void this.run();
    this.armPatrol();
  }

  /** Resolves with `true` once nothing is left, or with `false` after `timeoutMs`; the queue is then closed. */
  async drain(timeoutMs: number): Promise<boolean> {
    if (this.running) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        new Promise<void>((resolve) => this.idleListeners.push(resolve)),
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, timeoutMs);
        }),
      ]);
      clearTimeout(timer);
    }
    this.stopped = true;
    return !this.running;
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      // What the other sockets of this turn of the event loop bring may join.
      await endOfTurn();
      this.inFlight = this.waiting.length <= MAX_BATCH ? this.waiting : this.waiting.slice(0, MAX_BATCH);
      this.waiting = this.waiting.length <= MAX_BATCH ? [] : this.waiting.slice(MAX_BATCH);
      // What another queue has tried before may have been committed there, which the executor must go on knowing.
      await this.runBatch(this.inFlight, this.inFlight.some(({ mayHaveRun }) => mayHaveRun) ? 2 : 1);
      this.inFlight = [];
    }
    this.running = false;
    const listeners = this.idleListeners;
    this.idleListeners = [];
    listeners.forEach((listener) => listener());
    this.options.onIdle?.();
  }

  private async runBatch(batch: readonly Entry<Operation, Answer>[], firstAttempt: number): Promise<void> {
    // Between two attempts callers may have been turned away.
    let remaining = this.wanted(batch);
    for (let attempt = firstAttempt; remaining.length > 0; attempt += 1, remaining = this.wanted(remaining)) {
      try {
        this.executing = true;
        const answers = await this.options.execute(
          remaining.map((entry) => entry.operation),
          attempt,
        );
        this.executing = false;
        deliver(remaining, answers);
        return;
      } catch (error) {
        this.executing = false;
        if (isPermanentDatabaseError(error)) {
          return this.isolate(remaining, error, attempt);
        }
        this.options.onFailure?.(error, attempt);
        const wasNotRun = error instanceof NotSentError || isLockTimeout(error);
        remaining = this.stillWanted(remaining, !wasNotRun);
        const left = isLockTimeout(error) ? await this.setAside(remaining) : remaining;
        if (left.length > 0 && left.length === remaining.length) {
          await pause(Math.min(25 * 2 ** attempt, MAX_PAUSE_MS));
        }
        remaining = left;
      }
    }
  }

  /** Hands over what waits for somebody else, so that it keeps no others waiting. Returns what stays. */
  private async setAside(batch: readonly Entry<Operation, Answer>[]): Promise<readonly Entry<Operation, Answer>[]> {
    const { findLane } = this.options;
    if (findLane === undefined || batch.length === 0) return batch;
    const laneOf = await findLane(batch.map(({ operation }) => operation));
    const moved = new Set<Entry<Operation, Answer>>();
    // What waits behind the batch would only meet the same lock.
    for (const entry of this.wanted([...batch, ...this.waiting])) {
      const lane = laneOf(entry.operation);
      if (lane === null) continue;
      moved.add(entry);
      lane.take(entry);
    }
    const stays = (entry: Entry<Operation, Answer>): boolean => !moved.has(entry);
    this.inFlight = this.inFlight.filter(stays);
    this.waiting = this.waiting.filter(stays);
    return batch.filter(stays);
  }

  /** One bad operation must not take the rest of its batch with it: each is tried alone. */
  private async isolate(batch: readonly Entry<Operation, Answer>[], error: unknown, attempt: number): Promise<void> {
    const [first] = batch;
    if (batch.length > 1 || first === undefined) {
      for (const entry of batch) {
        // An earlier attempt may have been committed, which the executor must go on knowing.
        await this.runBatch([entry], attempt);
      }
      return;
    }
    const substitute = this.options.salvage?.(first.operation, error) ?? null;
    if (substitute === null) {
      first.reject(new GatewayError('internal_error', 'The request could not be accounted for.', { cause: error }));
      return;
    }
    first.operation = substitute;
    await this.runBatch(batch, attempt);
  }

  private stillWanted(batch: readonly Entry<Operation, Answer>[], mayHaveRun: boolean) {
    for (const entry of batch) {
      entry.mayHaveRun ||= mayHaveRun;
    }
    if (!this.stopped) {
      this.turnAwayOverdue(batch);
      return this.wanted(batch);
    }
    batch.forEach((entry) => this.turnAway(entry));
    return [];
  }

  private wanted(batch: readonly Entry<Operation, Answer>[]): readonly Entry<Operation, Answer>[] {
    return this.options.persistent ? batch : batch.filter((entry) => !entry.turnedAway);
  }

  /** One timer for all callers: it looks for overdue ones as long as there is work. */
  private armPatrol(): void {
    if (this.patrolArmed) {
      return;
    }
    this.patrolArmed = true;
    setTimeout(() => {
      this.patrolArmed = false;
      this.turnAwayOverdue(this.inFlight);
      this.turnAwayOverdue(this.waiting);
      if (!this.options.persistent) {
        this.waiting = this.waiting.filter((entry) => !entry.turnedAway);
      }
      if (this.running) {
        this.armPatrol();
      }
    }, PATROL_MS).unref();
  }

  /** Entries are in order of arrival, so the first one in time ends the search. */
  private turnAwayOverdue(entries: readonly Entry<Operation, Answer>[]): void {
    const overdueBeforeMs = this.options.clock.monotonic() - this.options.patienceMs;
    for (const entry of entries) {
      if (entry.enqueuedAtMs > overdueBeforeMs) {
        return;
      }
      this.turnAway(entry, entries === this.inFlight && this.executing);
    }
  }

  private turnAway(entry: Entry<Operation, Answer>, isExecuting = false): void {
    if (entry.turnedAway) {
      return;
    }
    entry.turnedAway = true;
    entry.reject(unavailable());
    entry.operation = this.options.whenTurnedAway?.(entry.operation) ?? entry.operation;
    if (isExecuting || entry.mayHaveRun) {
      this.options.onAbandoned?.(entry.operation);
    }
  }
}

function deliver<Operation, Answer>(
  entries: readonly Entry<Operation, Answer>[],
  answers: readonly (Answer | Error)[],
) {
  for (const [position, entry] of entries.entries()) {
    const answer = answers[position];
    if (answer instanceof Error) {
      entry.reject(answer);
    } else {
      // The executor answers every position; `undefined` is the answer of operations without a result.
      entry.resolve(answer as Answer);
    }
  }
}

/** Nothing may be spent that cannot be accounted for: the service fails closed. */
export function unavailable(): GatewayError {
  return new GatewayError('service_unavailable', 'Accounting is not available at the moment.', {
    retryAfterSeconds: 1,
  });
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}
