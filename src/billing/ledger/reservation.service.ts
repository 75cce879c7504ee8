import { Inject, Injectable, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import type { Pool } from 'pg';
import { CLOCK, type Clock } from '../../core/time/clock';
import type { IdempotencyCompletion } from '../../core/types/idempotency';
import { InFlight } from '../../core/concurrency/in-flight';
import { withinDatabaseTime } from '../../core/database/in-time';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { MONEY_POOL } from '../../core/database/money-pool';
import { NO_USAGE } from '../../providers/contract/usage';
import { AccountLanes, BatchQueue, type BatchQueueOptions, joinLoads, type QueueLoad } from './batch-queue';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { unavailable } from './billing-unavailable';
import { refusalOfClosedDay } from './closed-day';
import { InstanceLeaseService } from './instance-lease.service';
import {
  FIND_FREE_ACCOUNTS,
  finishStatement,
  MoneyConnection,
  type MoneyStatement,
  queryOnce,
  readFinishAnswers,
  readReserveAnswers,
  recordValues,
  reserveStatement,
  toStorableRecord,
  type VoidCommand,
  voidStatement,
} from './money-statements';
import type { FinishCommand, FinishResult, ReserveCommand, StoreAnswer } from './money.types';

type MoneyCall = 'reserve' | 'finish' | 'void';

/** Share of the usual time limit: requests for a locked account fail within 1.5 s (fault test F-13). */
const ISOLATED_WAIT_SHARE = 2 / 3;

/** The batch queues of some organizations. Different lanes run in parallel and never lock the same account. */
interface MoneyLane {
  readonly reserving: MoneyConnection;
  readonly ending: MoneyConnection;
  readonly reservations: AccountLanes<ReserveCommand, undefined>;
  readonly endings: AccountLanes<FinishCommand, FinishResult>;
}

/**
 * Creates and ends holds. Every call is idempotent by reservation id, so a batch whose response was lost is sent again,
 * and a hold that may or may not exist is voided. Every hold ends: by its request, by the persistent queue, or by the
 * sweeper after this process crashed.
 */
@Injectable()
export class ReservationService {
  private readonly logger = new Logger(ReservationService.name);
  private readonly lanes: readonly MoneyLane[];
  private readonly voids: BatchQueue<VoidCommand, undefined>;
  /** At most one isolated batch runs across all queues, so that most connections serve accounts that are not locked. */
  private readonly runAlone = pLimit(1);
  /** Responses whose copy is not stored yet; their charges wait for it. */
  private readonly storing = new InFlight();
  private readonly storingStopped = new AbortController();
  private closing = false;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    lease: InstanceLeaseService,
    @Inject(CLOCK) clock: Clock,
    @Inject(BILLING_OPTIONS) private readonly options: BillingOptions,
    private readonly metrics: Metrics,
  ) {
    const owner = lease.instanceId;
    this.lanes = Array.from({ length: options.lanes }, () => this.createLane(owner, clock));
    this.voids = new BatchQueue<VoidCommand, undefined>({
      clock,
      maxWaitMs: Number.POSITIVE_INFINITY,
      persistent: true,
      execute: this.measured('void', async (commands) => {
        await pool.query(voidStatement(commands, owner));
        return [];
      }),
      onFailure: (error, attempt) => this.logFailure(error, attempt),
    });
  }

  private createLane(owner: string, clock: Clock): MoneyLane {
    const { pool, options } = this;
    const reserving = new MoneyConnection(pool);
    const ending = new MoneyConnection(pool);
    const findLockedAccounts = (organizationIds: readonly string[]) => this.findLockedAccounts(organizationIds);
    const onFailure = (error: unknown, attempt: number): void => this.logFailure(error, attempt);
    const reservations = new AccountLanes<ReserveCommand, undefined>({
      clock,
      maxWaitMs: options.reserveMaxWaitMs,
      isolatedMaxWaitMs: options.reserveMaxWaitMs * ISOLATED_WAIT_SHARE,
      persistent: false,
      execute: this.measured('reserve', (commands) =>
        answersOf(commands, reserving.query(reserveStatement(commands, owner))),
      ),
      executeIsolated: this.measured('reserve', (commands) =>
        answersOf(commands, this.queryIsolated(reserveStatement(commands, owner))),
      ),
      findLockedAccounts,
      onAbandoned: (command) => this.voidInBackground(command),
      onFailure,
    });
    const endings = new AccountLanes<FinishCommand, FinishResult>({
      clock,
      maxWaitMs: options.finishMaxWaitMs,
      isolatedMaxWaitMs: options.finishMaxWaitMs,
      persistent: true,
      execute: this.measured('finish', async (commands, attempt) =>
        readFinishAnswers(await ending.query(finishStatement(commands)), commands, attempt > 1),
      ),
      executeIsolated: this.measured('finish', async (commands, attempt) =>
        readFinishAnswers(await this.queryIsolated(finishStatement(commands)), commands, attempt > 1),
      ),
      findLockedAccounts,
      replaceTimedOut: releaseUndelivered,
      fallbackFor: (command, error) => this.fallbackFor(command, error),
      onFailure,
    });
    return { reserving, ending, reservations, endings };
  }

  private laneOf(organizationId: string): MoneyLane {
    // The last digits of a UUID are random.
    const position = Number.parseInt(organizationId.slice(-8), 16) % this.lanes.length;
    return this.lanes[position] as MoneyLane;
  }

  /**
   * Resolves once the amount is durably held.
   * @throws KeyClaimedError when another request has claimed the idempotency key first;
   * GatewayError `budget_exceeded` (details: which), `spending_limit_exceeded`, `insufficient_credits`;
   * `service_unavailable` when the service is overloaded or shutting down, or the database does not respond in time; no
   * hold remains then.
   */
  reserve(command: ReserveCommand): Promise<void> {
    const { organizationId } = command;
    const { reservations, endings } = this.laneOf(organizationId);
    if (this.closing || reservations.isCongested(organizationId) || endings.isCongested(organizationId)) {
      return Promise.reject(unavailable());
    }
    return reservations.push(command);
  }

  /**
   * Ends a hold and writes the request's receipt in one transaction. Resolves when it is committed.
   * @throws GatewayError `service_unavailable` when that takes too long. The hold is still ended in the background:
   *   settled, or with `releaseOnTimeout` released. If the outcome of an attempt is unknown, it may have charged.
   */
  finish(command: FinishCommand): Promise<FinishResult> {
    return this.laneOf(command.organizationId).endings.push(command);
  }

  /**
   * Ends the hold of a request with an idempotency key: the copy of the response is stored first, then the charge
   * commits with the key. Both wait for the database, so that every charged response can be replayed.
   * @throws GatewayError as {@link finish}. With `releaseOnTimeout` the copy is discarded as well.
   */
  async finishStored(command: FinishCommand, storeAnswer: StoreAnswer): Promise<FinishResult> {
    const abandoned = new AbortController();
    const storing = storeAnswer(AbortSignal.any([abandoned.signal, this.storingStopped.signal]));
    // Counted until the charge is in its queue, which shutdown drains next.
    this.storing.begin();
    const finish = (ended: FinishCommand): Promise<FinishResult> => {
      const finishing = this.finish(ended);
      this.storing.end();
      return finishing;
    };
    let completion: IdempotencyCompletion;
    try {
      completion = await withinDatabaseTime(this.options.finishMaxWaitMs, storing);
    } catch {
      const finishing =
        command.releaseOnTimeout === true
          ? finish(releaseUndelivered(command))
          : storing.then((stored) => finish({ ...command, completion: stored }));
      if (command.releaseOnTimeout === true) abandoned.abort();
      finishing.catch((error: unknown) => this.logLateEnding(command, error));
      throw unavailable();
    }
    return finish({ ...command, completion });
  }

  /** Admits no new holds and waits for open operations. `false`: the sweeper must end some holds. */
  async drain(): Promise<boolean> {
    this.closing = true;
    const { lanes } = this;
    const { drainTimeoutMs } = this.options;
    const areReserved = await Promise.all([
      this.storing.whenIdle(drainTimeoutMs),
      ...lanes.map(({ reservations }) => reservations.drain(drainTimeoutMs)),
    ]);
    this.storingStopped.abort();
    const areEnded = await Promise.all([
      this.voids.drain(drainTimeoutMs),
      ...lanes.map(({ endings }) => endings.drain(drainTimeoutMs)),
    ]);
    for (const { reserving, ending } of lanes) {
      reserving.close();
      ending.close();
    }
    return [...areReserved, ...areEnded].every(Boolean);
  }

  /** The load of this process's queues, for the metrics. */
  describeQueues(): readonly (QueueLoad & { readonly queue: MoneyCall })[] {
    return [
      { queue: 'reserve', ...joinLoads(this.lanes.map(({ reservations }) => reservations.load)) },
      { queue: 'finish', ...joinLoads(this.lanes.map(({ endings }) => endings.load)) },
      { queue: 'void', ...this.voids.load, isolatedAccounts: 0 },
    ];
  }

  /** Counts the calls of a batch and its operations, since operations may be refused individually. */
  private measured<Operation, Answer>(
    call: MoneyCall,
    execute: BatchQueueOptions<Operation, Answer>['execute'],
  ): BatchQueueOptions<Operation, Answer>['execute'] {
    const { moneyCalls, moneyOperations, moneyCallSeconds } = this.metrics;
    return async (operations, attempt) => {
      const startedAtMs = performance.now();
      let result: 'ok' | 'failed' = 'failed';
      let refused = 0;
      try {
        const answers = await execute(operations, attempt);
        result = 'ok';
        for (const answer of answers) if (answer instanceof Error) refused++;
        return answers;
      } finally {
        moneyCalls.of(call, result).inc();
        moneyCallSeconds.of(call).observe((performance.now() - startedAtMs) / 1_000);
        if (refused > 0) moneyOperations.of(call, 'refused').inc(refused);
        if (operations.length > refused) moneyOperations.of(call, result).inc(operations.length - refused);
      }
    };
  }

  private queryIsolated(statement: MoneyStatement): Promise<string> {
    return this.runAlone(() => queryOnce(this.pool, statement));
  }

  private async findLockedAccounts(organizationIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.pool.query<{ organization_id: string }>(FIND_FREE_ACCOUNTS, [organizationIds]);
    const free = new Set(rows.map((row) => row.organization_id));
    return new Set(organizationIds.filter((id) => !free.has(id)));
  }

  private voidInBackground(command: VoidCommand): void {
    this.voids.push(command).catch((error: unknown) => {
      this.logger.error({
        event: 'hold_void_failed',
        message: 'a hold could not be voided',
        reservation_id: command.reservationId,
        failure: String(error),
      });
    });
  }

  /**
   * A receipt that the database cannot store (for example with a NUL in a model name) must not prevent the charge: it
   * is written without the invalid parts, or not at all.
   */
  private fallbackFor(command: FinishCommand, error: unknown): FinishCommand | null {
    const { reservationId, record } = command;
    const failure = String(error);
    this.logger.error({
      event: 'charge_failed',
      reservation_id: reservationId,
      failure,
      message: 'a hold could not be ended',
    });
    if (record === null) return null;
    const storable = toStorableRecord(record);
    const isReduced = recordValues(storable) !== recordValues(record);
    return { ...command, record: isReduced ? storable : null };
  }

  private logLateEnding({ reservationId }: FinishCommand, error: unknown): void {
    this.logger.warn({
      event: 'late_ending_unconfirmed',
      message: 'the end of a hold is not committed yet; the queue or the sweeper will end the hold',
      reservation_id: reservationId,
      err: error,
    });
  }

  private logFailure(error: unknown, attempt: number): void {
    if (attempt === 1) {
      this.logger.warn({
        event: 'ledger_batch_failed',
        message: 'a ledger batch failed and is retried',
        failure: String(error),
      });
    }
  }
}

/** A batch in which the ledger refuses the day of one request fails, and is executed one by one. */
async function answersOf(
  commands: readonly ReserveCommand[],
  answers: Promise<string>,
): Promise<ReturnType<typeof readReserveAnswers>> {
  try {
    return readReserveAnswers(await answers, commands.length);
  } catch (error) {
    const refusal = commands.length === 1 ? refusalOfClosedDay(error) : null;
    if (refusal === null) throw error;
    return [refusal];
  }
}

/** The client received `service_unavailable`, so the hold is released and the receipt says the same. */
function releaseUndelivered(command: FinishCommand): FinishCommand {
  if (command.releaseOnTimeout !== true) return command;
  const { record } = command;
  return {
    ...command,
    outcome: 'released',
    actualMicro: 0n,
    completion: null,
    record: record && {
      ...record,
      status: 503,
      errorCode: 'service_unavailable',
      usage: NO_USAGE,
      usageEstimated: false,
    },
  };
}
