import { Logger } from '@nestjs/common';
import { gatherEntries } from '../../core/concurrency/gathering';
import { isLockTimeout, isPermanentDatabaseError } from '../../core/database/driver-error';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Clock } from '../../core/time/clock';
import { unavailable } from './billing-unavailable';

/** The statement certainly did not run: there was no connection to send it on. */
export class NotSentError extends Error {}

export interface BatchQueueOptions<Operation, Answer> {
  /** Executes a batch and returns results by position; an `Error` rejects only that operation. Must be idempotent. */
  readonly execute: (operations: readonly Operation[], attempt: number) => Promise<readonly (Answer | Error)[]>;
  readonly clock: Clock;
  /** After this time a waiting caller is rejected with `service_unavailable`. */
  readonly maxWaitMs: number;
  /** `true`: an operation is retried until it succeeds, even after its caller timed out. */
  readonly persistent: boolean;
  /** Called when a caller timed out although its operation may have been, or may still be, executed. */
  readonly onAbandoned?: (operation: Operation) => void;
  /** Replaces the operation of a caller that timed out. */
  readonly replaceTimedOut?: (operation: Operation) => Operation;
  /** Replaces an operation that the database refuses permanently; `null` rejects it. */
  readonly fallbackFor?: (operation: Operation, error: unknown) => Operation | null;
  readonly onFailure?: (error: unknown, attempt: number) => void;
  /**
   * After a lock timeout: the queue that takes over an operation whose account is locked; `null`: the operation stays
   * and is retried at once.
   */
  readonly findLane?: (operations: readonly Operation[]) => Promise<FindLane<Operation, Answer>>;
  /** Called whenever the queue becomes empty. */
  readonly onIdle?: () => void;
}

/** What a queue holds, for the metrics. */
export interface QueueLoad {
  /** Operations that are waiting or being executed. */
  readonly size: number;
  /** Age of the oldest operation; 0: the queue is empty. */
  readonly oldestMs: number;
  /** Accounts that are processed separately. */
  readonly isolatedAccounts: number;
}

/** The load of several queues together. */
export function joinLoads(loads: readonly QueueLoad[]): QueueLoad {
  return {
    size: loads.reduce((sum, { size }) => sum + size, 0),
    oldestMs: Math.max(...loads.map(({ oldestMs }) => oldestMs)),
    isolatedAccounts: loads.reduce((sum, { isolatedAccounts }) => sum + isolatedAccounts, 0),
  };
}

export type FindLane<Operation, Answer> = (operation: Operation) => BatchQueue<Operation, Answer> | null;

interface Entry<Operation, Answer> {
  operation: Operation;
  readonly enqueuedAtMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  timedOut: boolean;
  mayHaveRun: boolean;
}

/** Measured: larger batches only add latency, and `money_reserve` compares the ids of a batch pairwise. */
const MAX_BATCH = 128;
const MAX_WAITING = 2_000;
const MAX_AGE_MS = 1_000;
const TIMEOUT_SCAN_MS = 250;
const MAX_PAUSE_MS = 500;

/**
 * Operations that arrive while a batch is in flight, and in a few event loop iterations after it, form the next batch.
 * No timer delays a batch, so an idle system adds no latency, and batches grow with the load. A failed batch is retried
 * with the same operations.
 */
export class BatchQueue<Operation, Answer> {
  private waiting: Entry<Operation, Answer>[] = [];
  private inFlight: readonly Entry<Operation, Answer>[] = [];
  private running = false;
  private executing = false;
  private stopped = false;
  private timeoutScanScheduled = false;
  private idleListeners: (() => void)[] = [];

  constructor(private readonly options: BatchQueueOptions<Operation, Answer>) {}

  /** `true`: too many operations are waiting, or one has waited too long; new ones must not be admitted. */
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

  get load(): Omit<QueueLoad, 'isolatedAccounts'> {
    const oldest = this.inFlight[0] ?? this.waiting[0];
    const oldestMs = oldest === undefined ? 0 : this.options.clock.monotonic() - oldest.enqueuedAtMs;
    return { size: this.size, oldestMs };
  }

  /** @throws GatewayError `service_unavailable` after `maxWaitMs`, or the error that the executor returned */
  push(operation: Operation): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.stopped) {
        reject(unavailable());
        return;
      }
      const enqueuedAtMs = this.options.clock.monotonic();
      this.take({ operation, enqueuedAtMs, resolve, reject, timedOut: false, mayHaveRun: false });
    });
  }

  private take(entry: Entry<Operation, Answer>): void {
    this.waiting.push(entry);
    if (this.running) return;
    this.running = true;
    void this.runBatches();
    this.scheduleTimeoutScan();
  }

  /** Waits up to `timeoutMs` until the queue is empty, then closes it. Resolves with whether it is empty. */
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

  private async runBatches(): Promise<void> {
    while (this.waiting.length > 0) {
      await gatherEntries();
      this.inFlight = this.waiting.length <= MAX_BATCH ? this.waiting : this.waiting.slice(0, MAX_BATCH);
      this.waiting = this.waiting.length <= MAX_BATCH ? [] : this.waiting.slice(MAX_BATCH);
      // Another queue may already have committed an operation, so the executor must treat this as a repetition.
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
    // Callers may have timed out between two attempts.
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
        const left = isLockTimeout(error) ? await this.moveToLanes(remaining) : remaining;
        if (left.length > 0 && left.length === remaining.length) {
          await pause(Math.min(25 * 2 ** attempt, MAX_PAUSE_MS));
        }
        remaining = left;
      }
    }
  }

  /** Moves operations of locked accounts to other queues, so that they block no others. Returns those that stay. */
  private async moveToLanes(batch: readonly Entry<Operation, Answer>[]): Promise<readonly Entry<Operation, Answer>[]> {
    const { findLane } = this.options;
    if (findLane === undefined || batch.length === 0) return batch;
    const laneOf = await findLane(batch.map(({ operation }) => operation));
    const moved = new Set<Entry<Operation, Answer>>();
    // Operations queued behind the batch would run into the same lock.
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

  /** Executes each operation alone, so that one bad operation does not fail the rest of its batch. */
  private async isolate(batch: readonly Entry<Operation, Answer>[], error: unknown, attempt: number): Promise<void> {
    const [first] = batch;
    if (batch.length > 1 || first === undefined) {
      for (const entry of batch) {
        // An earlier attempt may have been committed, so the attempt count is kept.
        await this.runBatch([entry], attempt);
        this.inFlight = this.inFlight.filter((each) => each !== entry);
      }
      return;
    }
    const substitute = this.options.fallbackFor?.(first.operation, error) ?? null;
    if (substitute === null) {
      first.reject(
        new GatewayError('internal_error', 'The request could not be recorded in the ledger.', { cause: error }),
      );
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
      this.rejectAllTimedOut(batch);
      return this.wanted(batch);
    }
    batch.forEach((entry) => this.rejectTimedOut(entry));
    return [];
  }

  private wanted(batch: readonly Entry<Operation, Answer>[]): readonly Entry<Operation, Answer>[] {
    return this.options.persistent ? batch : batch.filter((entry) => !entry.timedOut);
  }

  /** Schedules the one timer for all callers, which rejects callers that timed out. Runs only while there is work. */
  private scheduleTimeoutScan(): void {
    if (this.timeoutScanScheduled) {
      return;
    }
    this.timeoutScanScheduled = true;
    setTimeout(() => {
      this.timeoutScanScheduled = false;
      this.rejectAllTimedOut(this.inFlight);
      this.rejectAllTimedOut(this.waiting);
      if (!this.options.persistent) {
        this.waiting = this.waiting.filter((entry) => !entry.timedOut);
      }
      if (this.running) {
        this.scheduleTimeoutScan();
      }
    }, TIMEOUT_SCAN_MS).unref();
  }

  /** Entries are in order of arrival, so the first one that has not timed out ends the scan. */
  private rejectAllTimedOut(entries: readonly Entry<Operation, Answer>[]): void {
    const overdueBeforeMs = this.options.clock.monotonic() - this.options.maxWaitMs;
    for (const entry of entries) {
      if (entry.enqueuedAtMs > overdueBeforeMs) {
        return;
      }
      this.rejectTimedOut(entry, entries === this.inFlight && this.executing);
    }
  }

  private rejectTimedOut(entry: Entry<Operation, Answer>, isExecuting = false): void {
    if (entry.timedOut) {
      return;
    }
    entry.timedOut = true;
    entry.reject(unavailable());
    entry.operation = this.options.replaceTimedOut?.(entry.operation) ?? entry.operation;
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
      // The executor returns a value for every position; `undefined` for operations without a result.
      entry.resolve(answer as Answer);
    }
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}

export interface AccountLanesOptions<Operation, Answer> extends BatchQueueOptions<Operation, Answer> {
  /** Returns the organizations among these whose accounts another transaction has locked. */
  readonly findLockedAccounts: (organizationIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Like `execute`, for operations of one locked account, in parallel with the shared batches. */
  readonly executeIsolated: BatchQueueOptions<Operation, Answer>['execute'];
  /** Like `maxWaitMs`, for callers that need a locked account. */
  readonly isolatedMaxWaitMs: number;
}

const logger = new Logger('Billing');

/**
 * Operations of all accounts share batches, which makes them cheap. When another transaction locks an account for
 * longer than the lock timeout of a batch, its operations move to a separate lane so that they do not block other
 * accounts, and return to the shared queue once they succeed.
 */
export class AccountLanes<Operation extends { readonly organizationId: string }, Answer> {
  private readonly shared: BatchQueue<Operation, Answer>;
  /** By organization. A locked account keeps its lane, even while the lane is empty. */
  private readonly lanes = new Map<string, BatchQueue<Operation, Answer>>();

  constructor(private readonly options: AccountLanesOptions<Operation, Answer>) {
    this.shared = new BatchQueue({ ...options, findLane: (operations) => this.findLane(operations) });
  }

  /** `true`: too many operations of this organization are waiting, or one has waited too long; admit no new ones. */
  isCongested(organizationId: string): boolean {
    return this.shared.congested || this.lanes.get(organizationId)?.congested === true;
  }

  get load(): QueueLoad {
    const isolated = [...this.lanes.values()].map(({ load }) => ({ ...load, isolatedAccounts: 1 }));
    return joinLoads([{ ...this.shared.load, isolatedAccounts: 0 }, ...isolated]);
  }

  /** @throws GatewayError as {@link BatchQueue.push} */
  push(operation: Operation): Promise<Answer> {
    return (this.lanes.get(operation.organizationId) ?? this.shared).push(operation);
  }

  /** Resolves with `true` once all queues are empty, or with `false` after `timeoutMs`; then closes them. */
  async drain(timeoutMs: number): Promise<boolean> {
    const sharedIsEmpty = await this.shared.drain(timeoutMs);
    const laneIsEmpty = await Promise.all([...this.lanes.values()].map((lane) => lane.drain(timeoutMs)));
    return sharedIsEmpty && laneIsEmpty.every(Boolean);
  }

  private async findLane(operations: readonly Operation[]): Promise<FindLane<Operation, Answer>> {
    const organizationIds = [...new Set(operations.map(({ organizationId }) => organizationId))];
    // If the lookup fails, no account is treated as locked.
    const locked = await this.options.findLockedAccounts(organizationIds).catch(() => new Set<string>());
    return ({ organizationId }) => (locked.has(organizationId) ? this.laneOf(organizationId) : null);
  }

  private laneOf(organizationId: string): BatchQueue<Operation, Answer> {
    const known = this.lanes.get(organizationId);
    if (known !== undefined) return known;
    logger.warn({
      event: 'account_locked',
      message: 'the account is locked by another transaction; its requests are processed separately',
      organization_id: organizationId,
    });
    const { executeIsolated, isolatedMaxWaitMs } = this.options;
    let isLocked = true;
    const lane = new BatchQueue<Operation, Answer>({
      ...this.options,
      maxWaitMs: isolatedMaxWaitMs,
      execute: async (operations, attempt) => {
        try {
          const answers = await executeIsolated(operations, attempt);
          isLocked = false;
          return answers;
        } catch (error) {
          isLocked = isLockTimeout(error);
          throw error;
        }
      },
      onIdle: () => {
        if (!isLocked) this.lanes.delete(organizationId);
      },
    });
    this.lanes.set(organizationId, lane);
    return lane;
  }
}
